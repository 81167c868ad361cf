// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bytes"
	"image"
	"image/png"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// upload sends a file by a form of the site.
func (b *browser) upload(t *testing.T, status int, path string, file []byte) answer {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("image", `logo".png`)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write(file)
	_ = form.Close()
	return b.send(t, status, http.MethodPost, path, &body,
		"Content-Type", form.FormDataContentType(), "Origin", b.site.url, "Sec-Fetch-Site", "same-origin")
}

// TestStatusPageLogoPasswordAndSubscribers sets and removes what belongs to a page, with mistakes first.
func TestStatusPageLogoPasswordAndSubscribers(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, email := s.signUp(t)
	check, org := s.statusCheck(t, email, "checkout prod")
	made := b.follow(t, "/app/status-pages", url.Values{
		"title": {"Harbor"}, "slug": {"harbor-" + uuid.NewString()[:8]}, "check": {check.String()}, "name." + check.String(): {"Checkout"},
	})
	path := regexp.MustCompile(`/app/status-pages/[0-9a-f-]{36}`).FindString(made.text)
	made.shows(t, "The page is open to everybody.", "Set the logo", `href="`+path+`/subscribers"`)

	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewRGBA(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	b.upload(t, http.StatusUnprocessableEntity, path+"/logo", []byte("<svg onload=alert(1)>")).
		shows(t, "must be a PNG or a JPEG", `value="Harbor"`, `id="f-image-error"`)
	b.upload(t, http.StatusBadRequest, path+"/logo", bytes.Repeat([]byte("x"), 2<<20))
	b.upload(t, http.StatusUnprocessableEntity, path+"/logo", nil)
	b.upload(t, http.StatusSeeOther, path+"/logo", picture.Bytes())
	b.get(t, http.StatusOK, path).shows(t, "The present logo", "Remove it")
	b.follow(t, path+"/logo", url.Values{"remove": {"1"}}).without(t, "The present logo")

	refused := b.post(t, http.StatusUnprocessableEntity, path+"/password", url.Values{"password": {"s3cret"}})
	refused.shows(t, `id="f-password-error"`, `value="Harbor"`)
	refused.without(t, "s3cret")
	b.follow(t, path+"/password", url.Values{"password": {"a long s3cret"}}).shows(t, "Readers need a password.")
	b.follow(t, path+"/password", url.Values{"remove": {"1"}}).shows(t, "The page is open to everybody.")

	b.get(t, http.StatusOK, path+"/subscribers").shows(t, "No subscribers yet.")
	page := strings.TrimPrefix(path, "/app/status-pages/")
	s.change(t, `INSERT INTO status_page_readers (id, org_id, page_id, type, address, digest, created_at, asked_at, confirmed_at)
		SELECT gen_random_uuid(), '`+org.String()+`', '`+page+`', 'email', 'r' || n || '<b>@example.com', sha256(n::text::bytea), now(), now(),
		now() FROM generate_series(1, 120) AS n`)
	list := b.get(t, http.StatusOK, path+"/subscribers")
	list.shows(t, "&lt;b&gt;@example.com", "120 subscribers", "Older")
	remove := regexp.MustCompile(regexp.QuoteMeta(path) + `/subscribers/[0-9a-f-]{36}/remove`).FindString(list.text)
	b.follow(t, remove, url.Values{}).shows(t, "The subscriber is removed", "119 subscribers")
	b.post(t, http.StatusNotFound, remove, url.Values{})
	b.post(t, http.StatusNotFound, path+"/subscribers/x/remove", url.Values{})

	reader := s.joins(t, b, "viewer-"+uuid.NewString()[:8]+"@example.com", "viewer")
	stranger, _ := s.signUp(t)
	for who, status := range map[*browser]int{reader: http.StatusForbidden, stranger: http.StatusNotFound} {
		who.get(t, status, path+"/subscribers")
		who.post(t, status, path+"/password", url.Values{"password": {"a long s3cret"}})
		who.upload(t, status, path+"/logo", picture.Bytes())
		who.post(t, status, path+"/subscribers/"+uuid.NewString()+"/remove", url.Values{})
	}
}
