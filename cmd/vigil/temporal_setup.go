package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"vigil/dispatch"
)

func newTemporalSetupCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "setup",
		Short: "Make a Temporal ready for Vigil: namespace, retention and search attributes",
		Long: "Make the Temporal at TEMPORAL_ADDRESS ready for Vigil: the namespace (TEMPORAL_NAMESPACE) with its\n" +
			"retention (VIGIL_TEMPORAL_RETENTION) and the search attributes. Run it again whenever you like.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			if s.TemporalAddress == "" {
				return errors.New("`vigil temporal setup` needs TEMPORAL_ADDRESS, the Temporal to make ready; the embedded one makes itself ready")
			}
			p := newPlatform(s, newLogger(cmd.ErrOrStderr(), slog.Level(s.LogLevel)))
			defer p.stop(cmd.Context())
			if err := p.dialTemporal(""); err != nil {
				return err
			}
			done, err := dispatch.PrepareNamespace(cmd.Context(), p.temporal, s.TemporalNamespace, s.TemporalRetention)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), told(s, done))
			return err
		},
	}
}

// told says what was done, or that nothing had to be.
func told(s settings, done dispatch.Preparation) string {
	var did []string
	if done.Created {
		did = append(did, "namespace made")
	}
	if done.Retention {
		did = append(did, fmt.Sprintf("retention set to %s", s.TemporalRetention))
	}
	if len(done.Attributes) > 0 {
		did = append(did, "search attributes added: "+strings.Join(done.Attributes, ", "))
	}
	if len(did) == 0 {
		did = []string{"nothing to do"}
	}
	return fmt.Sprintf("Namespace %s at %s is ready (%s).", s.TemporalNamespace, s.TemporalAddress, strings.Join(did, "; "))
}
