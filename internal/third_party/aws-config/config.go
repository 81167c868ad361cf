// SPDX-License-Identifier: Apache-2.0

// Package config stands in for that of the AWS SDK, see internal/third_party/README.md.
package config

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

type (
	// LoadOptions are options of LoadDefaultConfig.
	LoadOptions struct{}
	// EnvConfig is what the environment configures.
	EnvConfig struct{ Credentials aws.Credentials }
)

// WithRegion sets nothing.
func WithRegion(string) func(*LoadOptions) error { return func(*LoadOptions) error { return nil } }

// WithClientLogMode sets nothing.
func WithClientLogMode(aws.ClientLogMode) func(*LoadOptions) error {
	return func(*LoadOptions) error { return nil }
}

// LoadDefaultConfig fails.
func LoadDefaultConfig(context.Context, ...func(*LoadOptions) error) (aws.Config, error) {
	return aws.Config{}, aws.ErrLeftOut
}

// NewEnvConfig fails.
func NewEnvConfig() (EnvConfig, error) { return EnvConfig{}, aws.ErrLeftOut }
