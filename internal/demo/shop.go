// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"net/http"
)

// CommandHeader must be in a request that commands the shop. A page in a browser cannot
// add it to a request to another origin.
const CommandHeader = "Vigil-Demo"

// command is what a client asks of the demo.
type command string

const (
	commandBreak  command = "break"
	commandRepair command = "repair"
	commandRemove command = "remove"
)

// shop returns the handler of the shop: its page, and the commands POST /break, /repair and
// /remove.
func (d *Demo) shop() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if d.state.get().Broken {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "The shop is broken. `vigil demo repair` repairs it.")
			return
		}
		fmt.Fprintln(w, "The shop of the demo is open. `vigil demo break` breaks it.")
	})
	for _, asked := range []command{commandBreak, commandRepair, commandRemove} {
		mux.HandleFunc("POST /"+string(asked), func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(CommandHeader) == "" {
				http.Error(w, "the header "+CommandHeader+" is missing", http.StatusForbidden)
				return
			}
			select {
			case d.commands <- asked:
				w.WriteHeader(http.StatusNoContent)
			case <-r.Context().Done():
			case <-d.ended:
				http.Error(w, "the demo has ended", http.StatusGone)
			}
		})
	}
	return mux
}
