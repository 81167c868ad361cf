// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"go.temporal.io/server/chasm"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/pprof"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/resource"
	"go.temporal.io/server/service/frontend"
	"go.temporal.io/server/service/history"
	"go.temporal.io/server/service/history/replication"
	"go.temporal.io/server/service/matching"
	"go.temporal.io/server/temporal"
	"go.uber.org/fx"
	"google.golang.org/grpc"
)

// serverModule is the server's own top-level module with services whose methods can be
// called in this process. The server offers no option for that: each of its services is an
// application of its own, so that here three of them are put together again.
func serverModule(calls *localCalls) fx.Option {
	kept := fx.Decorate(func(options []grpc.ServerOption) []grpc.ServerOption {
		return append([]grpc.ServerOption{calls.serverOption()}, options...)
	})
	keptFrontend := fx.Decorate(func(options frontend.GrpcServerOptions) frontend.GrpcServerOptions {
		options.Options = append([]grpc.ServerOption{calls.serverOption()}, options.Options...)
		return options
	})
	return fx.Options(
		fx.Provide(
			temporal.NewServerFxImpl,
			temporal.ServerOptionsProvider,
			temporal.TaskCategoryRegistryProvider,
			temporal.ApplyClusterMetadataConfigProvider,
			resource.ArchivalMetadataProvider,
			service(primitives.HistoryService, history.QueueModule, history.Module, replication.Module, kept),
			service(primitives.MatchingService, matching.Module, kept),
			service(primitives.FrontendService, frontend.Module, keptFrontend, fx.Supply([]grpc.UnaryServerInterceptor(nil))),
			temporal.WorkerServiceProvider,
		),
		dynamicconfig.Module,
		pprof.Module,
		temporal.TraceExportModule,
		chasm.Module,
		serialization.Module,
		temporal.FxLogAdapter,
		fx.Invoke(temporal.ServerLifetimeHooks),
	)
}

// serviceProvider makes one service of the server.
type serviceProvider func(temporal.ServiceProviderParamsCommon) (temporal.ServicesGroupOut, error)

func service(name primitives.ServiceName, modules ...fx.Option) serviceProvider {
	return func(common temporal.ServiceProviderParamsCommon) (temporal.ServicesGroupOut, error) {
		app := fx.New(append(modules, common.GetCommonServiceOptions(name))...)
		return temporal.NewService(app, name, common.Logger), app.Err()
	}
}
