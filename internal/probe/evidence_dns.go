// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"strconv"
	"time"

	"github.com/miekg/dns"
	probing "github.com/prometheus-community/pro-bing"
)

// noteAnswer notes what a name server answered to a DNS check. The address of one of the
// machine's own is not for users.
func (p dnsProbe) noteAnswer(ctx context.Context, t *timeline, server string, system bool, reply *dns.Msg, err error) {
	w := t.recorder
	if w == nil {
		return
	}
	if system {
		w.note(func() { w.address, w.attempts = "", nil })
	}
	found := p.lookupOf(server, system)
	switch {
	case err != nil:
		reason, _ := explain(ctx, t, err)
		found.Error = clip(reason, maxEvidenceText)
	case p.disclosesInside(reply):
		found.Error = "the answer holds private addresses"
	default:
		found.Rcode = rcodeName(reply.Rcode)
		values, _ := p.values(reply)
		for _, value := range values[:min(len(values), maxEvidenceNames)] {
			found.Answers = append(found.Answers, clip(value, maxEvidenceText))
		}
	}
	w.asked(found)
}

// notePackets makes a pinger note the replies, and returns what notes the result of each
// request when the pinger has ended.
func notePackets(w *recorder, pinger *probing.Pinger, count int) func() {
	if w == nil {
		return func() {}
	}
	replies := make(map[int]time.Duration)
	pinger.OnRecv = func(packet *probing.Packet) { w.note(func() { replies[packet.Seq] = packet.Rtt }) }
	return func() {
		w.note(func() {
			for i := range count {
				text := "no reply"
				if took, ok := replies[i]; ok {
					text = strconv.FormatFloat(milliseconds(took), 'f', -1, 64) + " ms"
				}
				w.packets = append(w.packets, strconv.Itoa(i+1)+": "+text)
			}
		})
	}
}
