package importer

import (
	"slices"

	"vigil"
)

// unlink removes the references to a resource that is not in the files.
func (r *Result) unlink(gone *Resource) {
	switch gone.Kind {
	case vigil.KindChannel:
		for _, check := range r.Checks {
			for _, rule := range check.Rules {
				channels, _ := rule.Members.Get("channels").([]string)
				if slices.Contains(channels, gone.Key) {
					rule.Set("channels", slices.DeleteFunc(slices.Clone(channels), func(key string) bool { return key == gone.Key }))
					rule.Lose("channel "+gone.Key, "the channel is not carried over")
				}
			}
		}
	case vigil.KindCheck:
		for _, window := range slices.Clone(r.Maintenance) {
			scope, _ := window.Members.Get("scope").(Object)
			checks, _ := scope.Get("checks").([]string)
			if !slices.Contains(checks, gone.Key) {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(checks), func(key string) bool { return key == gone.Key })
			if len(rest) == 0 {
				r.Remove(window, "its checks are not carried over")
				continue
			}
			scope.Set("checks", rest)
			window.Set("scope", scope)
			window.Lose("check "+gone.Key, "the check is not carried over")
		}
		for _, page := range r.StatusPages {
			unlinkPage(page, gone.Key)
		}
	default:
	}
}

// notifyIfOpen makes each rule of a check with several notify also while an incident of another
// one is open, as each alert of the other monitors does by itself.
func (r *Result) notifyIfOpen() {
	for _, check := range r.Checks {
		if len(check.Rules) < 2 {
			continue
		}
		for _, rule := range check.Rules {
			rule.Set("notify_if_open", true)
		}
	}
}

// unlinkPage removes a check from the groups of a status page.
func unlinkPage(page *Resource, key string) {
	groups, _ := page.Members.Get("groups").([]any)
	for i := range groups {
		group, _ := groups[i].(Object)
		checks, _ := group.Get("checks").([]any)
		rest := slices.DeleteFunc(slices.Clone(checks), func(one any) bool {
			object, _ := one.(Object)
			return one == any(key) || object.Get("check") == any(key)
		})
		if len(rest) != len(checks) {
			group.Set("checks", rest)
			groups[i] = group
			page.Lose("check "+key, "the check is not carried over")
		}
	}
}
