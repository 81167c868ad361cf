// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) contextCommand() *cobra.Command {
	return Group("context", "List, choose, rename and remove the servers that you are logged in to",
		a.contextListCommand(), a.contextUseCommand(), a.contextRenameCommand(), a.contextRemoveCommand())
}

// savedContext is a context as it is shown: without its key.
type savedContext struct {
	ID           string `json:"id"`
	Current      bool   `json:"current"`
	URL          string `json:"url"`
	Organization string `json:"organization,omitempty"`
	KeyPrefix    string `json:"key_prefix,omitempty"`
}

// keyShown characters of a key are shown, as the API shows them.
const keyShown = 12

func prefixOf(key string) string { return key[:min(keyShown, len(key)/2)] }

func (a *app) contextListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List contexts; a star marks the current one", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			con, err := a.console(cmd)
			if err != nil {
				return err
			}
			contexts, err := console.ReadContexts(configPath(), con.Warn)
			if err != nil {
				return err
			}
			table := console.List{
				Columns: console.Columns("CURRENT", "NAME", "URL", "ORGANIZATION", "KEY"), Empty: "No contexts; `vigil login` makes one.",
			}
			saved := []savedContext{}
			for _, name := range contexts.Names() {
				one := contexts.Contexts[name]
				saved = append(saved, savedContext{name, name == contexts.Current, one.URL, one.Organization, prefixOf(one.Key)})
				mark := ""
				if name == contexts.Current {
					mark = "*"
				}
				table.Rows = append(table.Rows, []console.Cell{
					console.Word(mark), console.Word(name), console.Word(one.URL), console.Text(one.Organization), console.Word(prefixOf(one.Key)),
				})
			}
			body, err := json.Marshal(map[string]any{"data": saved})
			if err != nil {
				return err
			}
			return con.Print(console.Answer{Body: body, Parts: []console.Part{table}})
		},
	}
}

// changesContexts returns the function of a command that changes the configuration file
// and notes it.
func (a *app) changesContexts(
	change func(contexts *console.Contexts, args []string) (note string, err error),
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		con, err := a.console(cmd)
		if err != nil {
			return err
		}
		note := ""
		err = console.ChangeContexts(configPath(), con.Warn, func(contexts *console.Contexts) (err error) {
			note, err = change(contexts, args)
			return err
		})
		if err == nil {
			con.Note("%s", note)
		}
		return err
	}
}

// known fails for a context that does not exist.
func known(contexts *console.Contexts, name string) error {
	if _, ok := contexts.Contexts[name]; !ok {
		return console.Errorf(console.NotFound, "there is no context %q; `vigil context list` shows them", name)
	}
	return nil
}

func (a *app) contextUseCommand() *cobra.Command {
	return &cobra.Command{
		Use: "use <name>", Short: "Make a context the current one", Args: oneOf("a context"), ValidArgsFunction: contextNames,
		RunE: a.changesContexts(func(contexts *console.Contexts, args []string) (string, error) {
			contexts.Current = args[0]
			return "Context " + args[0] + " is current.", known(contexts, args[0])
		}),
	}
}

func (a *app) contextRenameCommand() *cobra.Command {
	return &cobra.Command{
		Use: "rename <name> <new name>", Short: "Rename a context", ValidArgsFunction: contextNames,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return console.Errorf(console.Usage, "rename needs a context and its new name (got %d words)", len(args))
			}
			return validName(args[1])
		},
		RunE: a.changesContexts(func(contexts *console.Contexts, args []string) (string, error) {
			from, to := args[0], args[1]
			if err := known(contexts, from); err != nil {
				return "", err
			}
			if _, taken := contexts.Contexts[to]; taken {
				return "", console.Errorf(console.Conflict, "there is a context %q already", to)
			}
			contexts.Contexts[to] = contexts.Contexts[from]
			delete(contexts.Contexts, from)
			if contexts.Current == from {
				contexts.Current = to
			}
			return "Context " + from + " is now " + to + ".", nil
		}),
	}
}

func (a *app) contextRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove <name>", Short: "Forget a context and its key; the key stays valid", Args: oneOf("a context"),
		ValidArgsFunction: contextNames,
		RunE: a.changesContexts(func(contexts *console.Contexts, args []string) (string, error) {
			if err := known(contexts, args[0]); err != nil {
				return "", err
			}
			forget(contexts, args[0])
			return "Context " + args[0] + " is removed.", nil
		}),
	}
}

// validName checks the name of a new context.
func validName(name string) error {
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`).MatchString(name) {
		return console.Errorf(console.Usage, "%q is no name of a context: use letters, digits, dots, dashes and underscores, 63 at most", name)
	}
	return nil
}

// forget removes a context. Without the current one none is current.
func forget(contexts *console.Contexts, name string) {
	delete(contexts.Contexts, name)
	if contexts.Current == name {
		contexts.Current = ""
	}
}

func contextNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	contexts, err := console.ReadContexts(configPath(), func(string, ...any) {})
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return contexts.Names(), cobra.ShellCompDirectiveNoFileComp
}
