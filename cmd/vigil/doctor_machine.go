// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"syscall"

	"github.com/vigil-monitor/vigil/internal/doctor"
	"github.com/vigil-monitor/vigil/internal/instance"

	"github.com/vigil-monitor/vigil/internal/platform"
)

func (m *machineExam) judgeInstance(context.Context) *doctor.Finding {
	if m.several() {
		return nil
	}
	return new(doctor.Instance{
		DataDir: m.settings.DataDir, Running: m.running, PID: m.instance.PID, Version: m.instance.Version,
		Started: m.instance.StartedAt, Now: m.now(),
	}.Judge())
}

func (m *machineExam) judgeDataDir(context.Context) *doctor.Finding {
	dir := doctor.DataDir{Path: m.settings.DataDir, Owner: ownerOf(m.settings.DataDir)}
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

func (m *machineExam) judgeDisk(context.Context) *doctor.Finding {
	path := m.settings.DataDir
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
func (m *machineExam) judgePorts(ctx context.Context) []doctor.Finding {
	if m.running {
		return doctor.Ports(m.portsInUse(ctx))
	}
	return doctor.Ports(m.portsToUse(ctx))
}

func (m *machineExam) portsInUse(ctx context.Context) []doctor.Port {
	var ports []doctor.Port
	for _, served := range []struct{ what, address string }{
		{"the API", hostOf(m.instance.APIURL)}, {"Temporal", m.instance.TemporalAddress}, {"Temporal's UI", hostOf(m.instance.UIURL)},
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

func (m *machineExam) portsToUse(ctx context.Context) []doctor.Port {
	s := &m.settings
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
		if err != nil && m.several() && port.Setting == "VIGIL_LISTEN" && answersHealth(ctx, s.Listen.Reachable()) {
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

// answersHealth reports whether an API of Vigil serves there.
func answersHealth(ctx context.Context, address string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/health", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}

func (m *machineExam) judgeSecretKey(context.Context) *doctor.Finding {
	key := doctor.SecretKey{
		Given: len(m.settings.SecretKeys) > 0, Path: filepath.Join(m.settings.DataDir, platform.SecretKeyFile), Now: m.now(),
	}
	_, clusterErr := os.Stat(filepath.Join(m.settings.DataDir, clusterDir))
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
	if made, ok := readLastBackup(m.settings.DataDir); ok {
		key.Backup, key.Into = made.At, made.File
	}
	return new(key.Judge())
}

func (m *machineExam) judgeApplied(context.Context) *doctor.Finding {
	applied, ok, err := instance.ReadApplied(m.settings.DataDir)
	if err != nil {
		return &doctor.Finding{Part: "apply", State: doctor.Warn, Message: fmt.Sprintf("not known: %v", err)}
	}
	if !ok || !m.running {
		return nil
	}
	judged := doctor.Applied{Path: applied.Path, Problems: applied.Errors, Now: m.now()}
	if applied.State != instance.AppliedNow && len(judged.Problems) == 0 {
		judged.Problems = []string{"its state is " + string(applied.State)}
	}
	if applied.AppliedAt != nil {
		judged.At = *applied.AppliedAt
	}
	return new(judged.Judge())
}
