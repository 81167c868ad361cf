// SPDX-License-Identifier: Apache-2.0

package docker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// engine is a container engine: one that runs, or one of the tests' own.
type engine struct {
	host string // DOCKER_HOST
	dir  string // of an engine of our own
	cmd  *exec.Cmd
	err  error // why there is none
}

// theEngine is started by the first test that asks for it, and ended by TestMain.
var theEngine = sync.OnceValue(func() *engine { //nolint:gochecknoglobals // one for all tests
	host := os.Getenv("DOCKER_HOST")
	if exec.Command("docker", "version").Run() == nil {
		return &engine{host: host}
	}
	return startEngine()
})

// What TestMain ends: whether theEngine and programs were asked for.
var started, used atomic.Bool //nolint:gochecknoglobals // as they are

// startEngine starts dockerd in a folder of its own. It has no default bridge, so that it does not
// share one with an engine that somebody else starts: containers have networks of their own.
func startEngine() *engine {
	path := os.Getenv("PATH") + ":/usr/sbin:/sbin"
	program, err := exec.LookPath("dockerd")
	if err != nil {
		program = "/usr/sbin/dockerd"
	}
	if _, err := os.Stat(program); err != nil || runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return &engine{err: errors.New("no container engine runs, and none can be started: that needs root and dockerd (Debian: docker.io)")}
	}
	dir, err := os.MkdirTemp("", "vigil-engine")
	if err != nil {
		return &engine{err: err}
	}
	e := &engine{host: "unix://" + dir + "/s", dir: dir}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return &engine{err: err}
	}
	e.cmd = exec.Command(program, "--data-root", dir+"/data", "--exec-root", dir+"/exec", //nolint:noctx // ends with the tests
		"--pidfile", dir+"/pid", "--host", e.host, "--bridge", "none")
	e.cmd.Env = append(os.Environ(), "PATH="+path)
	e.cmd.Stdout, e.cmd.Stderr = log, log
	if err := e.cmd.Start(); err != nil {
		return &engine{err: err}
	}
	for range 600 {
		if _, err = e.try(context.Background(), nil, "version"); err == nil {
			return e
		}
		time.Sleep(100 * time.Millisecond) // sleep: between two looks at an engine that starts
	}
	e.stop()
	said, _ := os.ReadFile(log.Name())
	return &engine{err: fmt.Errorf("dockerd does not answer: %s", said[max(0, len(said)-400):])}
}

// stop ends an engine of our own and removes what it stored.
func (e *engine) stop() {
	if e.cmd == nil {
		return
	}
	_ = e.cmd.Process.Signal(syscall.SIGTERM)
	_ = e.cmd.Wait()
	_ = exec.Command("umount", e.dir+"/exec/netns/default").Run() //nolint:noctx // what dockerd leaves mounted
	_ = os.RemoveAll(e.dir)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if started.Load() {
		theEngine().stop()
	}
	if started.Load() || used.Load() {
		if out, err := programs(); err == nil {
			_ = os.RemoveAll(out)
		}
	}
	os.Exit(code)
}

// try runs the client of the engine and returns what it prints to standard output.
func (e *engine) try(ctx context.Context, stdin []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0")
	if e.host != "" {
		cmd.Env = append(cmd.Env, "DOCKER_HOST="+e.host)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("docker %s: %w\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

// run is try for a command that must work.
func (e *engine) run(t *testing.T, args ...string) string {
	t.Helper()
	output, err := e.try(t.Context(), nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(output)
}

// full reports whether the long form of the tests is asked for.
func full() bool { return os.Getenv("VIGIL_DRILL") == "full" }

// images are the images, built once from the programs that the RUN lines of the Dockerfile build here.
type images struct {
	*engine
	all, roles, agent string
	programs          [3]int64 // bytes of vigil, vigil-slim and vigil-agent
	err               error
}

var theImages = sync.OnceValue(func() images { //nolint:gochecknoglobals // built once for all tests
	made := images{engine: theEngine(), all: "vigil:tested", roles: "vigil-roles:tested", agent: "vigil-agent:tested"}
	if made.err = made.engine.err; made.err != nil {
		return made
	}
	out, err := programs()
	if err == nil {
		_, err = slim()
	}
	for _, target := range []string{"build-vigil", "build-agent"} {
		if err == nil {
			err = buildProgram(context.Background(), target, out)
		}
	}
	if err != nil {
		made.err = err
		return made
	}
	for i, program := range []string{"vigil", "vigil-slim", "vigil-agent"} {
		if info, err := os.Stat(filepath.Join(out, program)); err == nil {
			made.programs[i] = info.Size()
		}
	}
	bases := exec.Command(filepath.Join("..", ".ci", "base-images"), out)
	bases.Env = append(os.Environ(), "DOCKER_HOST="+made.host)
	if output, err := bases.CombinedOutput(); err != nil {
		made.err = fmt.Errorf("%w: %s", err, output)
		return made
	}
	for target, name := range map[string]string{"vigil": made.all, "vigil-roles": made.roles, "vigil-agent": made.agent} {
		_, made.err = made.try(context.Background(), nil, "build", "--quiet", "--network", "host", "--file", "Dockerfile",
			"--target", target, "--tag", name, "--build-arg", "BUILD_BASE=vigil-base/build", "--build-arg", "ROLES_BASE=vigil-base/static",
			"--build-arg", "POSTGRES_BASE=vigil-base/postgres", "--build-arg", "BASE=vigil-base/libc", "..")
		if made.err != nil {
			return made
		}
	}
	return made
})

// built returns the images, or skips the test where there is no engine.
func built(t *testing.T) images {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in short mode: it builds images")
	}
	started.Store(true)
	made := theImages()
	if made.engine.err != nil {
		t.Skip(made.engine.err)
	}
	if made.err != nil {
		t.Fatal(made.err)
	}
	return made
}
