package workflows_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"vigil"
	"vigil/notify"
	"vigil/workflows"
)

func TestDeliverySetsItsSearchAttributeOncePerStatus(t *testing.T) {
	t.Parallel()
	c := newDeliveryTest(t, vigil.ChannelWebhook)
	c.answer = func(n int) notify.Outcome {
		if n < 5 {
			return status(500)
		}
		return notify.Outcome{StatusCode: 200}
	}
	var shown []string
	c.env.OnUpsertTypedSearchAttributes(mock.MatchedBy(func(set temporal.SearchAttributes) bool {
		value, ok := set.GetKeyword(temporal.NewSearchAttributeKeyKeyword(workflows.AttributeDelivery))
		shown = append(shown, value)
		return ok
	})).Return(nil)
	c.run()
	if want := []string{"retrying", "delivered"}; !slices.Equal(shown, want) {
		t.Errorf("shown %v, want %v", shown, want)
	}
}
