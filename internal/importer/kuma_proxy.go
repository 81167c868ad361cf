// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net"
	"strconv"
	"strings"
)

// setProxy carries over the proxy of an HTTP monitor. One that Kuma does not use changes nothing; one
// that a check cannot use disables it, since another way may not lead to the target.
func (k *kumaImport) setProxy(c *Resource, m kumaRow) {
	id := m.id("proxy_id")
	config, ok := c.Members.Get("config").(Object)
	if id == 0 || !isHTTPMonitor(m.line("type")) || !ok {
		return
	}
	proxy, what := k.data.proxies[id], "proxy_id: "+strconv.FormatInt(id, 10)
	lose := func(reason string) {
		c.Lose(what, "%s", reason)
		c.disable()
	}
	if proxy == nil {
		lose("the file does not say which proxy that is; add its address to the member proxy of the check")
		return
	}
	if !proxy.flag("active", true) {
		return
	}
	host, reason := kumaHost(proxy.line("host"))
	port := proxy.whole("port", 0)
	user := proxy.text("username")
	switch protocol := proxy.line("protocol"); {
	case protocol != "http":
		lose("a check goes through proxies of HTTP, not of " + protocol)
		return
	case reason != "":
		lose("its proxy: " + reason)
		return
	case !validPort(port):
		lose("its proxy has no port from 1 to 65535")
		return
	case proxy.flag("auth", false) && (user == "" || strings.Contains(user, ":")):
		lose("the user name of its proxy is empty or has a colon")
		return
	}
	config.Set("proxy", Literal("http://"+net.JoinHostPort(host, strconv.FormatInt(port, 10))))
	if proxy.flag("auth", false) {
		auth := Object{{"username", Literal(user)}}
		if password := proxy.text("password"); password != "" {
			auth.Set("password", Literal(password))
		}
		config.Set("proxy_auth", auth)
	}
	c.Set("config", config)
}

// proxiesByID returns proxies by their ids.
func proxiesByID(rows []kumaRow) map[int64]kumaRow {
	proxies := make(map[int64]kumaRow, len(rows))
	for _, row := range rows {
		proxies[row.id("id")] = row
	}
	return proxies
}

// loseUnusedProxies reports proxies that no monitor names.
func (k *kumaImport) loseUnusedProxies() {
	used := map[int64]bool{}
	for _, m := range k.data.monitors {
		used[m.id("proxy_id")] = true
	}
	unused := 0
	for id := range k.data.proxies {
		if !used[id] {
			unused++
		}
	}
	if unused > 0 {
		k.LoseSetting("proxy", "%s that no monitor uses: a check has its proxy itself", counted(unused, "setting"))
	}
}
