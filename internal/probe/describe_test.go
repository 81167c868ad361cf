// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// TestDescribe holds that each type says what it is for, and that what a form begins with is a part of a
// config of it.
func TestDescribe(t *testing.T) {
	t.Parallel()
	r := probe.NewRegistry(egress.New(egress.Policy{}))
	var order []vigil.CheckType
	for _, info := range r.Describe() {
		order = append(order, info.Type)
		if info.About == "" || info.Position == 0 || len(info.Members) == 0 {
			t.Errorf("%s says too little: %+v", info.Type, info)
		}
		for _, m := range info.Members {
			if m.Title == "" || m.Description == "" {
				t.Errorf("%s: %s says too little", info.Type, m.Name)
			}
		}
	}
	want := []vigil.CheckType{
		"https", "http", "http3", "tcp", "websocket", "grpc", "ping", "dns", "ssl", "domain", "smtp-imap", "throughput", "multistep",
		"heartbeat",
	}
	if !slices.Equal(order, want) {
		t.Errorf("the types are %q, want %q", order, want)
	}
	for kind, want := range map[vigil.CheckType]string{"https": "url", "tcp": "host", "domain": "domain", "multistep": "", "smtp-imap": ""} {
		if got := r.Describe()[slices.Index(order, kind)].Target; got != want {
			t.Errorf("an address of %s fills %q, want %q", kind, got, want)
		}
	}
	sample := func(kind vigil.CheckType) string {
		members := r.Describe()[slices.Index(order, kind)].Members
		return members[slices.IndexFunc(members, func(m probe.MemberInfo) bool { return m.Name == "url" })].Sample
	}
	if sample("http") != "http://www.example.com/" || sample("http3") != "https://www.example.com/" {
		t.Errorf("addresses of http and http3 are shown as %s and %s", sample("http"), sample("http3"))
	}
	begin := r.Describe()[0].Members
	at := slices.IndexFunc(begin, func(m probe.MemberInfo) bool { return m.Begin != "" })
	given := json.RawMessage(`{"url":"https://a.example/","` + begin[at].Name + `":` + begin[at].Begin + `}`)
	if _, err := r.Parse("https", given, time.Minute); err != nil {
		t.Errorf("a form begins with %s: %v", given, err)
	}
}
