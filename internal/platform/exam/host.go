// SPDX-License-Identifier: Apache-2.0

package exam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/doctor"
	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/internal/standalone"
)

func (e *Exam) judgeInstance(context.Context) *doctor.Finding {
	if e.several() {
		return nil
	}
	return new(doctor.Instance{
		DataDir: e.Settings.DataDir, Running: e.Running, PID: e.Instance.PID, Version: e.Instance.Version,
		Started: e.Instance.StartedAt, Now: e.Now(),
	}.Judge())
}

func (e *Exam) judgeDataDir(context.Context) *doctor.Finding {
	dir := doctor.DataDir{Path: e.Settings.DataDir, Owner: platform.OwnerOf(e.Settings.DataDir)}
	if known, err := user.Current(); err == nil {
		dir.User = known.Username
	}
	info, err := os.Stat(dir.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dir.Missing = true
	case err != nil:
		dir.Problem = fmt.Sprintf("the data directory cannot be looked at: %v", err)
	case !info.IsDir():
		dir.Problem = dir.Path + " is no directory"
	default:
		dir.Mode = info.Mode()
	}
	return new(dir.Judge())
}

func (e *Exam) judgeDisk(context.Context) *doctor.Finding {
	path := e.Settings.DataDir
	for {
		_, err := os.Stat(path)
		if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
			path = parent // of a directory that is made later
			continue
		}
		break
	}
	var of syscall.Statfs_t
	if err := syscall.Statfs(path, &of); err != nil {
		return &doctor.Finding{Part: "disk", State: doctor.Warn, Message: fmt.Sprintf("not known: %s: %v", path, err)}
	}
	size := uint64(of.Bsize) //nolint:gosec // its type is another one on each system
	return new(doctor.Disk{Path: path, Free: of.Bavail * size, Total: of.Blocks * size}.Judge())
}

// judgePorts connects to the addresses of a running instance, and tries to listen on those
// of one that does not run.
func (e *Exam) judgePorts(ctx context.Context) []doctor.Finding {
	if e.Running {
		return doctor.Ports(e.portsInUse(ctx))
	}
	return doctor.Ports(e.portsToUse(ctx))
}

func (e *Exam) portsInUse(ctx context.Context) []doctor.Port {
	var ports []doctor.Port
	for _, served := range []struct{ what, address string }{
		{"the API", hostOf(e.Instance.APIURL)}, {"Temporal", e.Instance.TemporalAddress}, {"Temporal's UI", hostOf(e.Instance.UIURL)},
	} {
		if served.address == "" {
			continue
		}
		port := doctor.Port{What: served.what, Address: served.address, Ours: true}
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", served.address)
		if err == nil {
			_ = conn.Close()
		} else {
			port.Problem = platform.UnwrapNet(err).Error()
		}
		ports = append(ports, port)
	}
	return ports
}

// hostOf is the host and port of a URL.
func hostOf(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return parsed.Host
}

func (e *Exam) portsToUse(ctx context.Context) []doctor.Port {
	s := &e.Settings
	wanted := []doctor.Port{{What: "the API", Setting: "VIGIL_LISTEN", Address: string(s.Listen)}}
	if s.TemporalAddress == "" {
		wanted = append(wanted,
			doctor.Port{What: "Temporal", Setting: "VIGIL_TEMPORAL_LISTEN", Address: string(s.TemporalListen)},
			doctor.Port{What: "Temporal's UI", Setting: "VIGIL_UI_LISTEN", Address: string(s.UIListen)})
	}
	if s.MetricsListen != "" {
		wanted = append(wanted, doctor.Port{What: "the metrics", Setting: "VIGIL_METRICS_LISTEN", Address: string(s.MetricsListen)})
	}
	var ports []doctor.Port
	for _, port := range wanted {
		if port.Address == "" || platform.HostPort(port.Address).Port() == "0" {
			continue
		}
		err := canListen(ctx, port.Address)
		if err != nil && e.several() && servesOurs(ctx, port) {
			port.Ours, err = true, nil
		}
		if err != nil {
			port.Problem, port.Next = platform.UnwrapNet(err).Error(), freeAddress(ctx, port.Address)
		}
		ports = append(ports, port)
	}
	return ports
}

// canListen listens on an address for a moment.
func canListen(ctx context.Context, address string) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return listener.Close()
}

// freeAddress is another address of the same host.
func freeAddress(ctx context.Context, address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return address
	}
	defer func() { _ = listener.Close() }()
	return net.JoinHostPort(host, platform.HostPort(listener.Addr().String()).Port())
}

// servesOurs reports whether a process of the platform has the address.
func servesOurs(ctx context.Context, port doctor.Port) bool {
	at := "http://" + platform.HostPort(port.Address).Reachable()
	switch port.Setting {
	case "VIGIL_LISTEN":
		_, err := get(ctx, at+"/health")
		return err == nil
	case "VIGIL_METRICS_LISTEN":
		return servesMetrics(ctx, at+"/metrics") == nil
	default:
		return false
	}
}

// mostOfPage is how many bytes of a page are read.
const mostOfPage = 16 << 20

// get reads the begin of a page that a listener of the platform serves.
func get(ctx context.Context, address string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(console.Sentence(err), `Get "`+address+`": `))
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	return io.ReadAll(io.LimitReader(response.Body, mostOfPage))
}

func (e *Exam) judgeSecretKey(context.Context) *doctor.Finding {
	key := doctor.SecretKey{
		Given: len(e.Settings.SecretKeys) > 0, Path: filepath.Join(e.Settings.DataDir, platform.SecretKeyFile), Now: e.Now(),
	}
	_, clusterErr := os.Stat(filepath.Join(e.Settings.DataDir, standalone.ClusterDir))
	key.Needed = clusterErr == nil
	info, err := os.Stat(key.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		key.Missing = true
	case err != nil:
		key.Problem = fmt.Sprintf("the secret key cannot be looked at: %v", err)
	default:
		key.Mode, key.Made = info.Mode(), info.ModTime()
	}
	if made, ok := platform.ReadLastBackup(e.Settings.DataDir); ok {
		key.Backup, key.Into = made.At, made.File
	}
	return new(key.Judge())
}

func (e *Exam) judgeApplied(context.Context) *doctor.Finding {
	applied, ok, err := instance.ReadApplied(e.Settings.DataDir)
	if err != nil {
		return &doctor.Finding{Part: "apply", State: doctor.Warn, Message: fmt.Sprintf("not known: %v", err)}
	}
	if !ok || !e.Running {
		return nil
	}
	judged := doctor.Applied{Path: applied.Path, Problems: applied.Errors, Now: e.Now()}
	if applied.State != instance.AppliedNow && len(judged.Problems) == 0 {
		judged.Problems = []string{"its state is " + string(applied.State)}
	}
	if applied.AppliedAt != nil {
		judged.At = *applied.AppliedAt
	}
	return new(judged.Judge())
}
