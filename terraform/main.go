// SPDX-License-Identifier: Apache-2.0

// Command terraform-provider-vigil is the Terraform provider of Vigil. Terraform starts
// it; see docs/terraform.md.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/vigil-monitor/vigil/terraform/provider"
)

// version is set by the build of a release.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "run for a debugger")
	flag.Parse()
	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: provider.Address, Debug: *debug,
	})
	if err != nil {
		log.Fatal(err)
	}
}
