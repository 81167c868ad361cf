// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// machineFacts are what says how this program was installed.
type machineFacts struct {
	executable string                 // with symbolic links followed, and slashes
	env        func(name string) bool // whether a variable is set
	exists     func(path string) bool
	listed     func(file, line string) bool // whether a file has a line
}

// thisMachine returns the facts of this process.
func thisMachine() machineFacts {
	executable, err := os.Executable()
	if err == nil {
		if real, err := filepath.EvalSymlinks(executable); err == nil {
			executable = real
		}
	}
	return machineFacts{
		executable: filepath.ToSlash(executable),
		env:        func(name string) bool { return os.Getenv(name) != "" },
		exists:     func(path string) bool { _, err := os.Stat(path); return err == nil },
		listed: func(file, line string) bool {
			text, err := os.ReadFile(file) //nolint:gosec // one of dpkg's lists
			return err == nil && strings.Contains("\n"+string(text), "\n"+line+"\n")
		},
	}
}

// installation is a way in which this program is installed.
type installation struct {
	name   string // for programs
	phrase string // behind "installed"
	steps  func(version string) []string
}

// installedBy recognizes the way by what each leaves.
func installedBy(m machineFacts) installation {
	dir := path.Dir(m.executable)
	switch {
	case m.env("KUBERNETES_SERVICE_HOST"):
		return installation{"kubernetes", "in Kubernetes", func(version string) []string {
			return []string{"set the tag of the image to " + version + " in the values of the chart, and run helm upgrade"}
		}}
	case m.exists("/.dockerenv") || m.exists("/run/.containerenv"):
		return installation{"container", "as a container image", func(version string) []string {
			return []string{"load or pull the image of " + version + ", and start it with the same volume in place of this container"}
		}}
	case m.listed("/var/lib/dpkg/info/vigil.list", m.executable):
		return installation{"deb", "as a Debian package", func(version string) []string {
			return []string{"apt-get install ./vigil_" + strings.TrimPrefix(version, "v") + "_<architecture>.deb"}
		}}
	case m.executable == "/usr/bin/vigil" && (m.exists("/var/lib/rpm") || m.exists("/usr/lib/sysimage/rpm")):
		return installation{"rpm", "as an RPM package", func(version string) []string {
			return []string{"rpm --upgrade vigil-" + strings.TrimPrefix(version, "v") + "-1.<architecture>.rpm"}
		}}
	case strings.Contains(m.executable, "/Cellar/vigil/"):
		return installation{"homebrew", "by Homebrew", func(string) []string { return []string{"brew update && brew upgrade vigil"} }}
	case strings.Contains(strings.ToLower(m.executable), "/scoop/apps/vigil/"):
		return installation{"scoop", "by Scoop", func(string) []string { return []string{"scoop update vigil"} }}
	case path.Base(dir) == "bin" && m.exists(path.Dir(dir)+"/cmd/vigil/main.go"):
		return installation{"source", "from source", func(version string) []string {
			return []string{"cd " + path.Dir(dir), "git fetch --tags && git checkout " + version, "make build"}
		}}
	}
	return installation{"archive", "from an archive, in " + dir, func(version string) []string {
		return []string{
			"sha256sum --check --ignore-missing SHA256SUMS",
			"tar -xzf vigil_" + version + "_<os>_<architecture>.tar.gz -C " + dir,
			"stop vigil, and start it again",
		}
	}}
}
