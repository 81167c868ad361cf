// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vigil-monitor/vigil/internal/console"
)

// typos is how many letters may differ between what was typed and what is suggested.
const typos = 2

// unknownCommand is the error of a word that is no subcommand of cmd, with what was
// probably meant.
func unknownCommand(cmd *cobra.Command, word string) error {
	return console.Errorf(console.Usage, "unknown command %q for %q%s; see %s --help", word, cmd.CommandPath(), meant("", nearest(cmd, word)),
		cmd.CommandPath())
}

// nearest are the subcommands that a misspelled one may be.
func nearest(cmd *cobra.Command, word string) []string {
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = typos
	}
	return cmd.SuggestionsFor(word)
}

// suggestFlag adds to the error of an unknown flag which one was probably meant.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < typos {
		return err
	}
	names := &cobra.Command{} // it compares names as it does those of commands
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
		}
	})
	found := nearest(names, unknown.GetSpecifiedName())
	if len(found) == 0 {
		return err
	}
	return fmt.Errorf("%w%s", err, meant("--", found))
}

// meant asks whether one of the words was meant; without one it is empty.
func meant(prefix string, words []string) string {
	if len(words) == 0 {
		return ""
	}
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "`" + prefix + word + "`"
	}
	return " (did you mean " + strings.Join(quoted, " or ") + "?)"
}
