// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/drills"
	"github.com/vigil-monitor/vigil/internal/mail"
)

// Drills mails the owners of organizations about drills that failed, once each. A mail that could
// not be sent is tried again.
func (n notices) Drills(ctx context.Context) error {
	var errs []error
	for {
		due, err := n.store.ClaimDrillNotices(ctx, channelBatch)
		for i := range due {
			if err := n.drill(ctx, &due[i]); err != nil {
				errs = append(errs, fmt.Errorf("mail the owners about drill %s: %w", due[i].ID, err))
			}
		}
		if err != nil || len(due) < channelBatch {
			return errors.Join(append(errs, err)...)
		}
	}
}

func (n notices) drill(ctx context.Context, drill *drills.Drill) error {
	done, err := n.owners(ctx, drill.OrgID, drillNotice(drill, n.publicURL))
	if err != nil || !done { // it is claimed again
		return err
	}
	return n.store.DrillNoticeMailed(ctx, drill.ID)
}

// maxNoticeHops is how many failures of a drill a mail names.
const maxNoticeHops = 10

// drillNotice is the mail about a drill that failed, with a link to its page where the address of the
// platform is known. Its id is the same on every try.
func drillNotice(drill *drills.Drill, publicURL string) mail.Message {
	text := "The drill of " + drill.AskedAt.UTC().Format(time.RFC1123) + " failed: alerts may not arrive.\n\n"
	for i, f := range drill.Receipt.Failures {
		if i == maxNoticeHops {
			text += fmt.Sprintf("- and %d more\n", len(drill.Receipt.Failures)-i)
			break
		}
		text += "- " + string(f.Hop) + ": " + vigil.WithoutLinks(vigil.Truncate(f.Reason, maxNoticeError)) + "\n"
	}
	text += "\nvigil drill get " + drill.ID.String() + " shows the receipt with each hop.\n"
	if publicURL != "" {
		text += "\n" + publicURL + drills.PagePath + drill.ID.String() + "\n"
	}
	return mail.Message{
		ID:      "drill-" + drill.ID.String(),
		Subject: "A drill failed: alerts may not arrive",
		Text:    text,
		Button:  "Open the receipt",
	}
}
