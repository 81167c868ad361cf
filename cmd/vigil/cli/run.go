// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// pingVariable is the environment variable with the address that a job pings.
const pingVariable = "VIGIL_PING_URL"

// Exit codes of shells for a command that cannot be run, and what they add to a signal.
const (
	exitNotRunnable = 126
	exitNoCommand   = 127
	exitSignal      = 128
)

// runFlags are the flags of `vigil run`.
type runFlags struct {
	check, pingURL string
	retry          time.Duration
}

func (a *app) runCommand() *cobra.Command {
	f := runFlags{}
	cmd := &cobra.Command{
		Use: "run --check <heartbeat> -- <command> [<argument>...]", Short: "Run a job and report it to a heartbeat",
		Long: "Run a job and report it to a heartbeat: its start, its exit code, how long it took and the last 10 KB that it printed.\n\n" +
			"The exit code is that of the job, also where the report fails; a job that a signal ends is followed by the same signal.\n" +
			"While the server does not answer, the report is repeated until --retry is over. Where the machine of the job shall have no\n" +
			"API key, give it the ping_url of the check instead, in " + pingVariable + " or with --ping-url.",
		Example: "  vigil run --check shop/backup -- pg_dump --file=/backup/shop.sql shop\n" +
			"  VIGIL_PING_URL=https://vigil.example.com/p/... vigil run -- /usr/local/bin/backup",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 {
				return console.Errorf(console.Usage, "vigil run needs the command behind --, such as vigil run --check shop/backup -- backup.sh")
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.check, "check", "", "the `heartbeat` to report to")
	flags.StringVar(&f.pingURL, "ping-url", os.Getenv(pingVariable), "`address` to report to ["+pingVariable+"]")
	flags.Lookup("ping-url").DefValue = "" // the help shows no secret
	flags.DurationVar(&f.retry, "retry", 2*time.Minute, "longest `duration` of the report once the job has ended")
	complete(cmd, "check", func() []string { return nil })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		con, err := a.console(cmd)
		if err != nil {
			return err
		}
		r := &jobRun{app: a, cmd: cmd, con: con, flags: f, id: uuid.New(), url: f.pingURL}
		return r.run(args)
	}
	return cmd
}

// jobRun is a run of a job.
type jobRun struct {
	app   *app
	cmd   *cobra.Command
	con   *console.Console
	flags runFlags
	id    uuid.UUID
	url   string // that is pinged; empty: not known yet
}

// run runs a job. It is not interrupted with the program: it gets the signal and decides.
func (r *jobRun) run(args []string) error {
	ctx := context.WithoutCancel(r.cmd.Context())
	if r.url == "" {
		if err := r.find(ctx); err != nil {
			if console.CodeOf(err) != console.Unreachable {
				return err
			}
			r.con.Warn("%s; the job runs, and is reported afterwards", err)
		}
	}
	if r.url != "" {
		if err := r.report(ctx, "/start", nil, startLimit); err != nil {
			r.con.Warn("the start is not reported: %s", err)
		}
	}
	output := &tail{limit: outputKept}
	code, sent := r.execute(args, output)
	if err := r.end(ctx, code, output.text()); err != nil {
		r.con.Warn("the end is not reported: %s", err)
	}
	if sent != 0 {
		follow(sent)
	}
	return console.Silent(console.Code(code))
}

// find looks up where the job pings.
func (r *jobRun) find(ctx context.Context) error {
	if r.flags.check == "" {
		return console.Errorf(console.Usage, "name the heartbeat with --check, or give its ping_url in %s", pingVariable)
	}
	s, err := r.app.session(r.cmd)
	if err != nil {
		return err
	}
	found, err := s.check(ctx, r.flags.check)
	if err != nil {
		return err
	}
	response, err := s.api.GetCheck(ctx, found.ID, nil)
	check, _, err := read[client.CheckAnswer](s, response, err)
	if err != nil {
		return err
	}
	if check.Data.PingUrl == nil {
		return console.Errorf(console.Failed, "%s has no ping_url: it must be a heartbeat, and the key must have the scope write", r.flags.check)
	}
	r.url = *check.Data.PingUrl
	return nil
}

// execute runs the command, and returns its exit code and the signal that ended it.
func (r *jobRun) execute(args []string, output io.Writer) (code int, sent syscall.Signal) {
	job := exec.Command(args[0], args[1:]...) //nolint:gosec,noctx // the command of the caller, which ends by itself
	job.Stdin, job.Stdout, job.Stderr = os.Stdin, io.MultiWriter(r.cmd.OutOrStdout(), output), io.MultiWriter(r.cmd.ErrOrStderr(), output)
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	if err := job.Start(); err != nil {
		_, _ = io.WriteString(output, err.Error())
		r.con.Warn("%s", err)
		if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
			return exitNoCommand, 0
		}
		return exitNotRunnable, 0
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = job.Wait() // ProcessState has what became of it
	}()
	for {
		select {
		case got := <-signals:
			// The terminal sends its interrupts to the job, too.
			if got != syscall.SIGINT || !r.con.ErrTTY {
				_ = job.Process.Signal(got) // it may have ended
			}
		case <-ended:
			if status, ok := job.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				return exitSignal + int(status.Signal()), status.Signal()
			}
			return job.ProcessState.ExitCode(), 0
		}
	}
}

// end reports the end of the job, and looks up where when that failed before.
func (r *jobRun) end(ctx context.Context, code int, output []byte) error {
	began := r.con.Now()
	for round := 0; r.url == ""; round++ {
		err := r.find(ctx)
		if err == nil {
			break
		}
		if console.CodeOf(err) != console.Unreachable || r.con.Now().Sub(began) > r.flags.retry {
			return err
		}
		_ = sleep(ctx, pingWait(round))
	}
	return r.report(ctx, "/"+exitPath(code), output, r.flags.retry-r.con.Now().Sub(began))
}

// follow ends the program as the signal has ended the job.
func follow(sent syscall.Signal) {
	signal.Reset(sent)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(sent) == nil {
		<-time.After(time.Second) // a signal that does not end it leaves the exit code
	}
}

// outputKept is how many bytes of the end of the output are reported.
const outputKept = 10 << 10

// tail keeps the end of what is written to it.
type tail struct {
	limit int
	mu    sync.Mutex
	kept  []byte
}

// Write keeps the end of what was written.
func (t *tail) Write(part []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, part[max(0, len(part)-t.limit):]...)
	if over := len(t.kept) - t.limit; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(part), nil
}

func (t *tail) text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}
