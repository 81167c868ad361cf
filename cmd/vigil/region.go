// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/storage"
)

// addRegionTokens adds to the client command `vigil region` the one of the operator, which has the settings.
func addRegionTokens(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		if cmd.Name() == "region" {
			tokens := newRegionTokenCommand()
			tokens.Flags().SortFlags = false
			addSettings(tokens.PersistentFlags())
			cmd.AddCommand(tokens)
		}
	}
}

func newRegionTokenCommand() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "agent-token [region]",
		Short: "Let agents serve a region instead of a worker, for every organization",
		Long: "Make a token with which agents serve a region of the platform, and print it, alone, on standard output. It is shown only\n" +
			"once; a region that has one gets another, and its agents are cut off until they have it. Without a region, list those\n" +
			"that agents serve. It works on the database, on the machine of the platform. A region that no running process was started\n" +
			"with needs a restart of one that runs the loops of locations, before what its agents send is judged.",
		Example: "  vigil region agent-token eu-central-fra\n  vigil region agent-token eu-central-fra --remove",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("agent-token needs one region at most (got %d)", len(args))
			}
			if remove && len(args) == 0 {
				return errors.New("--remove needs a region, such as eu-central-fra")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), &s, func(store *storage.Store) error {
				if len(args) == 0 {
					return listRegionTokens(cmd, store)
				}
				region, ok := vigil.RegionByKey(args[0])
				if !ok {
					return fmt.Errorf("%q is no region of the platform; vigil region list shows them", args[0])
				}
				return changeRegionToken(cmd, store, region, remove)
			})
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "let a worker serve the region again: the token is not accepted any more")
	return cmd
}

// changeRegionToken makes the token of a region or removes it. The audit log of the operator's organization says so, once there is one.
func changeRegionToken(cmd *cobra.Command, store *storage.Store, region vigil.Region, remove bool) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	operator, err := store.Operator(ctx)
	noted := err == nil
	if err != nil && vigil.ErrorCode(err) != vigil.CodeNotFound {
		return err
	}
	action := "region.agent_token"
	if remove {
		action = "region.remove_agent_token"
	}
	if noted {
		ctx = asOperator(cmd, action, operator.OrgID, uuid.Nil)
	}
	if remove {
		err := store.DeleteRegionToken(ctx, region.Key)
		if vigil.ErrorCode(err) == vigil.CodeNotFound {
			return fmt.Errorf("no agents serve %s: it has no token", region.Key)
		}
		if err == nil {
			fmt.Fprintf(out, "Agents do not serve %s any more. A worker that was started with the region probes it again.\n", region.Key)
		}
		return err
	}
	_, token, err := store.SetRegionToken(ctx, region.Key, region.Name)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, token)
	live, err := store.LiveRegions(ctx, fleet.LeaseTimeout)
	_, locations := live[vigil.LocationsRegion]
	if _, served := live[region.Key]; locations && !served {
		fmt.Fprintf(cmd.ErrOrStderr(), "No running process was started with %s: restart one that runs the loops of locations\n"+
			"(vigil up, vigil worker --control or --locations).\n", region.Key)
	}
	return err
}

func listRegionTokens(cmd *cobra.Command, store *storage.Store) error {
	all, err := store.RegionLocations(cmd.Context())
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "No agents serve a region of the platform.")
		return nil
	}
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	row := func(cells ...any) { _, _ = io.WriteString(table, fmt.Sprintf("%v\t%v\t%v\t%v\t%v\n", cells...)) }
	row("REGION", "STATE", "AGENTS", "TOKEN", "SINCE")
	for i := range all {
		l := &all[i]
		row(l.Key, l.State, len(l.Agents), l.TokenPrefix+"…", l.RotatedAt.Format(time.DateTime))
	}
	return table.Flush()
}
