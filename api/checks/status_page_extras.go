// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// Limits of what belongs to a page.
const (
	maxLogo         = 256 << 10 // bytes of the picture, before and after it is written again
	maxLogoSide     = 2000      // pixels
	leastPagePass   = 8         // characters
	mostPagePass    = 200
	lookupTimeout   = 5 * time.Second
	mostSubscribers = 1000
)

func (s *statusPages) registerExtras(r *rest.Registrar, one string) {
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one + "/password", ID: "set-status-page-password", Tag: resource.TagStatusPages,
		Scope: account.ScopeWrite, Audit: "status_page.set_password", Resource: resourceStatusPage,
		Summary: "Set the password of a status page",
		Description: "Readers need it for the page, its feed, its JSON and its badges. It is stored as a hash and never shown. " +
			"Another password ends what readers had.",
	}, s.setPassword)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one + "/password", ID: "delete-status-page-password", Tag: resource.TagStatusPages,
		Scope: account.ScopeWrite, Audit: "status_page.delete_password", Resource: resourceStatusPage, Status: http.StatusNoContent,
		Summary: "Open a status page to everybody",
	}, s.deletePassword)
	rest.Register(r, rest.Operation{
		Method: http.MethodPut, Path: one + "/logo", ID: "set-status-page-logo", Tag: resource.TagStatusPages,
		Scope: account.ScopeWrite, Audit: "status_page.set_logo", Resource: resourceStatusPage,
		Summary: "Set the logo of a status page",
		Description: "A PNG or JPEG of at most 256 KiB and 2,000 pixels on each side. It is written again, so that nothing but the picture " +
			"remains. SVG is refused: it can hold scripts.",
	}, s.setLogo)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one + "/logo", ID: "delete-status-page-logo", Tag: resource.TagStatusPages,
		Scope: account.ScopeWrite, Audit: "status_page.delete_logo", Resource: resourceStatusPage, Status: http.StatusNoContent,
		Summary: "Remove the logo of a status page",
	}, s.deleteLogo)
	rest.Register(r, rest.Operation{
		Method:   http.MethodPost,
		Path:     one + "/host",
		ID:       "verify-status-page-host",
		Tag:      resource.TagStatusPages,
		Scope:    account.ScopeWrite,
		Audit:    "status_page.verify_host",
		Resource: resourceStatusPage,
		Summary:  "Verify the host of a status page",
		Description: "Looks for the TXT record _vigil-status.<host> with the text vigil-status-page=<id of the page>, and serves the page " +
			"at the host when it is there. A host belongs to the page that showed the record last.",
		Errors: []int{http.StatusConflict},
	}, s.verifyHost)
	rest.Register(r, rest.Operation{
		Method:   http.MethodGet,
		Path:     one + "/subscribers",
		ID:       "list-status-page-subscribers",
		Tag:      resource.TagStatusPages,
		Scope:    account.ScopeWrite,
		Resource: resourceStatusPage,
		Summary:  "List the subscribers of a status page",
		Description: "Those who have confirmed, the oldest first, up to 1,000 a page. Their addresses are personal data, so a credential " +
			"needs the scope write. Of a webhook only the host is shown.",
	}, s.listSubscribers)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one + "/subscribers/{subscriber_id}", ID: "delete-status-page-subscriber",
		Tag: resource.TagStatusPages, Scope: account.ScopeWrite, Audit: "status_page.delete_subscriber", Resource: resourceStatusPage,
		Status: http.StatusNoContent, Summary: "Remove a subscriber of a status page",
	}, s.deleteSubscriber)
}

type passwordInput struct {
	rest.IDPath
	Body struct {
		Password string `json:"password" minLength:"8" maxLength:"200" doc:"What readers give: 8 to 200 characters." example:"correct horse"`
	}
}

func (s *statusPages) setPassword(ctx context.Context, in *passwordInput) (*rest.Answer[statusPageView], error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	if n := utf8.RuneCountInString(in.Body.Password); n < leastPagePass || n > mostPagePass {
		return nil, vigil.Invalid("password", "must have %d to %d characters", leastPagePass, mostPagePass)
	}
	org := rest.CallerOf(ctx).Org.ID
	if _, err := s.store.StatusPage(ctx, org, id); err != nil { // before the work of a hash
		return nil, err
	}
	hash, err := s.hashPassword(ctx, in.Body.Password)
	if err != nil {
		return nil, err
	}
	page, err := s.store.SetStatusPassword(ctx, org, id, hash)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(s.show(page)), nil
}

func (s *statusPages) deletePassword(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	_, err = s.store.SetStatusPassword(ctx, rest.CallerOf(ctx).Org.ID, id, "")
	return nil, err
}

type logoInput struct {
	rest.IDPath
	Body struct {
		Image string `json:"image" maxLength:"360000" doc:"The PNG or JPEG in base64." example:"iVBORw0KGgo="`
	}
}

func (s *statusPages) setLogo(ctx context.Context, in *logoInput) (*rest.Answer[statusPageView], error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	logo, err := readLogo(in.Body.Image)
	if err != nil {
		return nil, err
	}
	page, err := s.store.SetStatusLogo(ctx, rest.CallerOf(ctx).Org.ID, id, &logo)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(s.show(page)), nil
}

// readLogo reads a picture and writes it again: what is not part of it, such as where a photograph was
// taken, is not published.
func readLogo(text string) (overview.Logo, error) {
	const member = "image"
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return overview.Logo{}, vigil.Invalid(member, "must be base64")
	}
	if len(data) > maxLogo {
		return overview.Logo{}, vigil.Invalid(member, "must have at most %d KiB, and has %d", maxLogo>>10, (len(data)+1023)>>10)
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil || format != "png" && format != "jpeg" {
		return overview.Logo{}, vigil.Invalid(member, "must be a PNG or a JPEG")
	}
	if config.Width > maxLogoSide || config.Height > maxLogoSide || config.Width < 1 || config.Height < 1 {
		return overview.Logo{}, vigil.Invalid(
			member,
			"must have 1 to %d pixels on each side, and has %d by %d",
			maxLogoSide,
			config.Width,
			config.Height,
		)
	}
	picture, _, err := image.Decode(bytes.NewReader(data))
	if err != nil {
		return overview.Logo{}, vigil.Invalid(member, "is not a whole picture")
	}
	var written bytes.Buffer
	if format == "png" {
		err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&written, picture)
	} else {
		err = jpeg.Encode(&written, picture, &jpeg.Options{Quality: 85})
	}
	if err != nil {
		return overview.Logo{}, fmt.Errorf("write a logo: %w", err)
	}
	if written.Len() > maxLogo {
		return overview.Logo{}, vigil.Invalid(member, "has %d KiB when it is written again, and may have %d; use a smaller one",
			(written.Len()+1023)>>10, maxLogo>>10)
	}
	return overview.Logo{MediaType: "image/" + format, Image: written.Bytes()}, nil
}

func (s *statusPages) deleteLogo(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	_, err = s.store.SetStatusLogo(ctx, rest.CallerOf(ctx).Org.ID, id, nil)
	return nil, err
}

func (s *statusPages) verifyHost(ctx context.Context, in *rest.IDPath) (*rest.Answer[statusPageView], error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	org := rest.CallerOf(ctx).Org.ID
	page, err := s.store.StatusPage(ctx, org, id)
	if err != nil {
		return nil, err
	}
	if page.Host == "" {
		return nil, vigil.Errorf(vigil.CodeConflict, "The status page has no host; give it one first.")
	}
	if own, err := url.Parse(s.publicURL); err == nil && strings.EqualFold(own.Hostname(), page.Host) {
		return nil, vigil.Invalid("host", "is that of the platform")
	}
	name, want := overview.HostRecord+page.Host, page.HostProof()
	var found []string
	if s.lookupTXT != nil {
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		found, err = s.lookupTXT(ctx, name)
		cancel()
	}
	if err != nil || !slices.Contains(found, want) {
		return nil, vigil.Errorf(
			vigil.CodeConflict,
			"There is no TXT record %s with the text %s yet. Add it to the DNS of the host and ask again.",
			name,
			want,
		)
	}
	if page, err = s.store.VerifyStatusHost(ctx, org, id, page.Host); err != nil {
		return nil, err
	}
	return rest.NewAnswer(s.show(page)), nil
}

// subscriberView is a reader who gets the messages of a page.
type subscriberView struct {
	ID          uuid.UUID `json:"id" format:"uuid"`
	Type        string    `json:"type" enum:"email,webhook"`
	Address     string    `json:"address" doc:"The mail address, or the host of the webhook." example:"ada@example.com"`
	ConfirmedAt time.Time `json:"confirmed_at"`
}

type subscribersInput struct {
	rest.IDPath
	Limit  int64  `query:"limit" default:"1000" minimum:"1" doc:"How many to show. More than 1000 is read as 1000."`
	Cursor string `query:"cursor" maxLength:"2000" doc:"The next_cursor of a page, to get the page after it."`
}

func (s *statusPages) listSubscribers(ctx context.Context, in *subscribersInput) (*rest.Listing[subscriberView], error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	query := rest.ListQuery{PageQuery: rest.PageQuery{Limit: in.Limit}, Cursor: in.Cursor}
	page, cursor, err := query.Open(mostSubscribers, "subscribers", id.String())
	if err != nil {
		return nil, err
	}
	org, after := rest.CallerOf(ctx).Org.ID, uuid.Nil
	if page.After != nil {
		after = page.After.ID
	}
	of, err := s.store.StatusPage(ctx, org, id)
	if err != nil {
		return nil, err
	}
	readers, err := s.store.StatusReaders(ctx, org, id, after, page.Limit+1)
	if err != nil {
		return nil, err
	}
	extent := listing.Extent{Total: int(of.Subscribers)}
	if len(readers) > page.Limit {
		readers = readers[:page.Limit]
		extent.Next = &listing.PagePosition{ID: readers[len(readers)-1].ID}
	}
	return rest.NewPage(readers, extent, cursor, showSubscriber), nil
}

func showSubscriber(reader overview.Reader) subscriberView {
	view := subscriberView{ID: reader.ID, Type: reader.Kind, Address: reader.Address, ConfirmedAt: reader.ConfirmedAt.UTC()}
	if reader.Kind == overview.ReaderWebhook {
		view.Address = ""
		if parsed, err := url.Parse(reader.Address); err == nil {
			view.Address = parsed.Host
		}
	}
	return view
}

type subscriberPath struct {
	rest.IDPath
	SubscriberID string `path:"subscriber_id" format:"uuid"`
}

func (s *statusPages) deleteSubscriber(ctx context.Context, in *subscriberPath) (*struct{}, error) {
	id, err := in.Parse(resourceStatusPage)
	if err != nil {
		return nil, err
	}
	reader, err := rest.ParseID(in.SubscriberID, "subscriber")
	if err != nil {
		return nil, err
	}
	return nil, s.store.DeleteStatusReader(ctx, rest.CallerOf(ctx).Org.ID, id, reader)
}
