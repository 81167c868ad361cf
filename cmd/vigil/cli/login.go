// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"

	"github.com/vigil-monitor/vigil/internal/instance"
)

// loggingIn are the flags of `vigil login`.
type loggingIn struct {
	withKey              bool
	email, name, dataDir string
	scopes               []string
}

func (a *app) loginCommand() *cobra.Command {
	var l loggingIn
	cmd := &cobra.Command{
		Use: "login [URL]", Short: "Log in to a server, or without a URL to the one on this machine",
		Long: "Log in to a server, and save its address and your key as a context. Without a URL it is the one that `vigil up`\n" +
			"runs on this machine, for which a key is made. Otherwise the key is asked for, or read from standard input\n" +
			"(--with-key), or made with your password (--email). A key is never an argument: others could see it.",
		Example: "  vigil login\n" +
			"  vigil login https://vigil.example.com\n" +
			"  vigil login https://vigil.example.com --with-key < key.txt",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			con, err := a.console(cmd)
			if err != nil {
				return err
			}
			if l.withKey && l.email != "" {
				return console.Errorf(console.Usage, "give one of --with-key and --email")
			}
			if l.name != "" {
				if err := validName(l.name); err != nil {
					return err
				}
			}
			address := a.flags.url
			if len(args) == 1 {
				address = args[0]
			}
			return a.login(cmd.Context(), con, l, address)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&l.withKey, "with-key", false, "read the key from standard input")
	flags.StringVar(&l.email, "email", "", "make a key with the password of the account with this `address`, which is asked for")
	flags.StringVar(&l.name, "name", "", "`name` of the context (default: local, or the host of the URL)")
	flags.StringVar(&l.dataDir, "data-dir", a.host.DataDir, "data `directory` of the instance on this machine [VIGIL_DATA_DIR]")
	flags.StringSliceVar(&l.scopes, "scopes", nil, "what a key that is made may do: read, respond, write, admin (default: all)")
	return cmd
}

// localContext is the name of the context of the instance on this machine.
const localContext = "local"

func (a *app) login(ctx context.Context, con *console.Console, l loggingIn, address string) error {
	saved := console.Context{}
	name, how := l.name, ""
	var err error
	if address == "" {
		found, err := a.localInstance(ctx, l.dataDir)
		if err != nil {
			return err
		}
		con.Note("Found Vigil %s on this machine: %s (data in %s).", found.Version, found.APIURL, l.dataDir)
		saved.URL, saved.DataDir = found.APIURL, l.dataDir
		if name == "" {
			name = localContext
		}
	} else if saved.URL, err = console.ServerURL(address, "the address"); err != nil {
		return err
	}
	if name == "" {
		parsed, _ := url.Parse(saved.URL)
		name = parsed.Hostname()
	}
	warnAboutPlainHTTP(con, saved.URL)
	if saved.Key, how, err = a.obtainKey(ctx, con, l, saved); err != nil {
		return err
	}
	me, err := a.verify(ctx, con, saved)
	if err != nil {
		return err
	}
	saved.Organization = me.Organization.Name
	path := configPath()
	err = console.ChangeContexts(path, con.Warn, func(contexts *console.Contexts) error {
		contexts.Contexts[name], contexts.Current = saved, name
		return nil
	})
	if err != nil {
		return err
	}
	con.Note("%s for the organization %s; saved in %s (0600).", how, me.Organization.Name, path)
	con.Note("Context %s is current. Next: vigil status", name)
	warnAboutVariables(con)
	return nil
}

// warnAboutVariables names the variables that win over what was saved.
func warnAboutVariables(con *console.Console) {
	for _, variable := range []string{urlVariable, keyVariable, contextVariable} {
		if os.Getenv(variable) != "" {
			con.Warn("warning: %s is set and wins over what was saved; unset it to use the context", variable)
		}
	}
}

func warnAboutPlainHTTP(con *console.Console, address string) {
	parsed, err := url.Parse(address)
	if err == nil && parsed.Scheme == "http" && !loopback(parsed.Hostname()) {
		con.Warn("warning: %s is not encrypted; others on the way can read the key", address)
	}
}

// localInstance returns the instance on this machine.
func (a *app) localInstance(ctx context.Context, dataDir string) (instance.Instance, error) {
	found, err := instance.Running(dataDir)
	if err == nil {
		err = answers(ctx, found)
	}
	if err != nil {
		return found, console.Errorf(
			console.Unreachable, "no instance runs with the data directory %s: start `vigil up`, name another with --data-dir, or give a URL",
			dataDir,
		)
	}
	return found, nil
}

// obtainKey returns a key and how it was obtained.
func (a *app) obtainKey(ctx context.Context, con *console.Console, l loggingIn, saved console.Context) (key, how string, err error) {
	name := "cli " + userAndHost()
	switch {
	case l.withKey:
		key, err = console.ReadLine(con.In)
		how = "The key is"
	case l.email != "":
		key, err = a.keyByPassword(ctx, con, l, saved.URL, name)
		how = fmt.Sprintf("Made the key %q", name)
	case saved.DataDir != "":
		key, err = a.host.LocalKey(ctx, saved.DataDir, name, l.scopes)
		how = fmt.Sprintf("Made the key %q", name)
	case con.Hidden == nil || !con.Interactive():
		return "", "", console.Errorf(console.Usage, "there is no terminal to ask for a key on; give it on standard input with --with-key")
	default:
		con.Note("Paste an API key for %s; `vigil api-key create` makes one. It is not shown.", saved.URL)
		_, _ = fmt.Fprint(con.Err, "Key: ")
		key, err = con.Hidden()
		how = "The key is"
	}
	if err != nil {
		return "", "", err
	}
	if key = strings.TrimSpace(key); key == "" {
		return "", "", console.Errorf(console.Usage, "the key is empty")
	}
	return key, how, nil
}

// userAndHost is the name of a new key: the user and the host that it is for.
func userAndHost() string {
	name, host := "user", "unknown"
	if known, err := user.Current(); err == nil && known.Username != "" {
		name = known.Username
	}
	if known, err := os.Hostname(); err == nil {
		host = known
	}
	return name + "@" + host
}

// keyByPassword logs in with a password and makes a key.
func (a *app) keyByPassword(ctx context.Context, con *console.Console, l loggingIn, address, name string) (string, error) {
	if con.Hidden == nil || !con.Interactive() {
		return "", console.Errorf(console.Usage, "there is no terminal to ask for the password on; use --with-key")
	}
	_, _ = fmt.Fprintf(con.Err, "Password of %s: ", l.email)
	password, err := con.Hidden()
	if err != nil {
		return "", err
	}
	s, err := a.connect(con, target{URL: address})
	if err != nil {
		return "", err
	}
	response, err := s.api.Login(ctx, client.LoginRequest{Email: l.email, Password: &password})
	answer, _, err := read[client.AuthAnswer](s, response, err)
	if err != nil {
		return "", err
	}
	if s, err = a.connect(con, target{URL: address, Key: answer.Data.Token, KeyFrom: "the login"}); err != nil {
		return "", err
	}
	request := client.KeyRequest{Name: name}
	if len(l.scopes) > 0 {
		request.Scopes = new(scopesOf(l.scopes))
	}
	response, err = s.api.CreateApiKey(ctx, nil, request, once())
	made, _, err := read[client.NewKeyAnswer](s, response, err)
	return made.Data.ApiKey, err
}

// verify asks the server which user a key belongs to.
func (a *app) verify(ctx context.Context, con *console.Console, saved console.Context) (client.Me, error) {
	s, err := a.connect(con, target{URL: saved.URL, Key: saved.Key, KeyFrom: "this login"})
	if err != nil {
		return client.Me{}, err
	}
	response, err := s.api.GetMe(ctx)
	answer, _, err := read[client.MeAnswer](s, response, err)
	return answer.Data, err
}

func (a *app) logoutCommand() *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use: "logout", Short: "Forget the current context and its key; --revoke also ends the key", Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "revoke the key, which then works nowhere")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		con, err := a.console(cmd)
		if err != nil {
			return err
		}
		to, err := a.target(con)
		if err != nil {
			return err
		}
		if to.Context == "" {
			return console.Errorf(console.Login, "no context is in use: the server comes from %s", to.URLFrom)
		}
		if revoke {
			if err := a.revokeOwn(cmd.Context(), con, to); err != nil {
				return err
			}
		}
		err = console.ChangeContexts(configPath(), con.Warn, func(contexts *console.Contexts) error {
			forget(contexts, to.Context)
			return nil
		})
		if err != nil {
			return err
		}
		if !revoke {
			con.Note("Context %s is removed; its key stays valid until it is revoked.", to.Context)
			return nil
		}
		con.Note("Context %s is removed and its key is revoked.", to.Context)
		return nil
	}
	return cmd
}

// revokeOwn revokes the key of a context. One that is not valid any more is fine.
func (a *app) revokeOwn(ctx context.Context, con *console.Console, to target) error {
	s, err := a.connect(con, to)
	if err != nil {
		return err
	}
	response, err := s.api.GetMe(ctx)
	answer, _, err := read[client.MeAnswer](s, response, err)
	if console.CodeOf(err) == console.Login && response != nil && response.StatusCode == http.StatusUnauthorized {
		return nil
	}
	if err != nil {
		return err
	}
	if answer.Data.ApiKey == nil {
		return console.Errorf(console.Failed, "the credential of the context %s is no API key", to.Context)
	}
	response, err = s.api.DeleteApiKey(ctx, answer.Data.ApiKey.Id)
	_, err = s.body(response, err)
	return err
}
