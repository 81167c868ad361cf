// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/manifest"
	"github.com/vigil-monitor/vigil/internal/project"
)

// What Upptime takes for members that are absent.
const (
	upptimeInterval  = 5 * time.Minute
	upptimeTimeout   = 60 * time.Second
	upptimeRedirects = 3
	upptimePort      = 80 // of tcp-ping
	upptimeDays      = 6  // a certificate with fewer than 7 days is down
)

// upptime reads .upptimerc.yml of a repository of Upptime.
func upptime() Source {
	return Source{
		Name: "upptime", Product: "Upptime", Argument: ".upptimerc.yml|DIRECTORY",
		Short: "Write the sites of Upptime as files of a project",
		Long: "Read .upptimerc.yml, or the one in the directory of a repository of Upptime, and write its sites as files of a\n" +
			"project. A secret such as $API_TOKEN becomes the variable ${API_TOKEN}: GitHub does not show its value, so set it\n" +
			"yourself. What Vigil does not have is reported in comments, in a table and in IMPORT.md.",
		Example: "  vigil import upptime .upptimerc.yml -o vigil/",
		Read:    readUpptime,
	}
}

// upptimeImport is one import of a configuration of Upptime.
type upptimeImport struct {
	*Result

	interval time.Duration
}

func readUpptime(path string, o Options) (*Result, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, pathReason(err))
	}
	if info.IsDir() {
		if path, err = upptimeFile(path); err != nil {
			return nil, err
		}
	}
	text, err := readText(path, maxYAML)
	if err != nil {
		return nil, err
	}
	read, others, err := parseYAML(path, text)
	if err != nil {
		return nil, err
	}
	u := &upptimeImport{Result: NewResult(upptime(), o), interval: upptimeInterval}
	if others > 0 {
		return nil, fmt.Errorf("%s: has %s behind its first document; Upptime reads one", path, counted(others, "document"))
	}
	root := newMembers(read, "", u.LoseSetting)
	if read.kind != mapKind || root.get("sites") == nil {
		return nil, fmt.Errorf("%s: is no configuration of Upptime: it has no sites", path)
	}
	sites := root.list("sites")
	if len(sites) == 0 {
		return nil, fmt.Errorf("%s: its member sites is no list of sites", path)
	}
	u.Read(len(sites), "site")
	u.schedule(root)
	for i, one := range sites {
		u.site(one, i)
	}
	u.settings(root)
	return u.Result, nil
}

func upptimeFile(dir string) (string, error) {
	for _, name := range []string{".upptimerc.yml", ".upptimerc.yaml"} {
		if path := filepath.Join(dir, name); isFile(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: has no .upptimerc.yml", dir)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// everyMinutes matches the schedules of cron that stand for a number of minutes.
var everyMinutes = regexp.MustCompile(`^(?:\*/(\d{1,2})|\*) \* \* \* \*$`)

// schedule reads how often Upptime looks at its sites.
func (u *upptimeImport) schedule(root *members) {
	schedules := root.inner("workflowSchedule")
	if schedules == nil {
		return
	}
	given := oneLine(schedules.marked("uptime"))
	if given == "" {
		return
	}
	found := everyMinutes.FindStringSubmatch(given)
	minutes := 1
	if found != nil && found[1] != "" {
		minutes, _ = strconv.Atoi(found[1]) // two digits
	}
	if found == nil || minutes == 0 || minutes > 59 {
		u.LoseSetting("workflowSchedule.uptime: "+given, "the checks run every 5 minutes: a check has an interval and no times")
		return
	}
	u.interval = time.Duration(minutes) * time.Minute
}

// settings reports what belongs to no site. The names of workflows, texts of commits and the look of
// the pages change nothing that is checked.
func (u *upptimeImport) settings(root *members) {
	for _, name := range []string{
		"owner", "repo", "user-agent", "delay", "PAT", "skipDescriptionUpdate", "skipTopicsUpdate", "skipHomepageUpdate", "skipDeleteIssues",
		"skipPoweredByReadme", "commitMessages", "summaryStartHtmlComment", "summaryEndHtmlComment", "liveStatusHtmlComment",
		"commitPrefixStatusUp", "commitPrefixStatusDown", "commitPrefixStatusDegraded", "i18n", "runner", "customStatusWebsitePackage",
		"skipGeneratingWebsite", "secrets", "repository", "$schema",
	} {
		root.take(name)
	}
	if given := root.list("notifications"); len(given) > 0 {
		for i, one := range given {
			kind := "notification " + strconv.Itoa(i+1)
			if text := one.get("type"); text != nil && text.kind == scalarKind {
				kind = "notification " + text.text
			}
			u.Miss(project.KindChannel, kind, "its address is a secret of the repository; write a channel with it into the files")
		}
	}
	if len(root.list("assignees")) > 0 {
		u.LoseSetting("assignees", "incidents are not assigned; invite people with `vigil member invite`")
	}
	if root.take("status-website") != nil {
		u.LoseSetting("status-website", "write a status page into the files, with the checks that everybody may see")
	}
	u.LoseSetting("history", "the results of before stay in the repository; uptime begins with the first result of Vigil")
	root.finish()
}

// upptimeVariable matches a secret in a text. Upptime replaces the names that it knows, which GitHub
// writes in upper case.
var upptimeVariable = regexp.MustCompile(`\$[A-Z_][A-Z0-9_]*`)

// upptimeMarked returns a text with marks in the place of its secrets.
func upptimeMarked(text string) string {
	text = unmarked(text)
	return upptimeVariable.ReplaceAllStringFunc(text, func(name string) string {
		if strings.HasPrefix(name, "$DYNAMIC_") || !manifest.IsVariable(name[1:]) {
			return name
		}
		return markOpen + name[1:] + markClose
	})
}
