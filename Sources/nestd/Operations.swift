import CoreMetrics
import Foundation
import Logging
import NestOperations
import NestServer
import ServiceLifecycle
import UnixSignals

/// The operators' interfaces of the server: logs, metrics, health, systemd.
struct Operations {
    let levelSwitch: LogLevelSwitch
    let board = HealthBoard()
    let notifier: ServiceNotifier?
    let watchdogInterval: Duration?
    private let registry = MetricRegistry()
    private let process: ProcessMetrics

    /// Sets up logs and metrics for the whole process. Call it once, before anything logs or counts.
    init(_ settings: ServiceSettings) {
        let levelSwitch = LogLevelSwitch(settings.level)
        let gate = LogGate()
        let isJSON = settings.text(.logFormat) == "json"
        LoggingSystem.bootstrap { label in
            let base: any LogHandler = isJSON ? JSONLogHandler() : StreamLogHandler.standardError(label: label)
            return SwitchedLogHandler(UnblockedLogHandler(base, gate), levelSwitch)
        }
        MetricsSystem.bootstrap(self.registry)
        self.levelSwitch = levelSwitch
        let environment = ProcessInfo.processInfo.environment
        self.notifier = ServiceNotifier(environment: environment)
        self.watchdogInterval = ServiceNotifier.watchdogInterval(environment: environment)
        self.process = ProcessMetrics(storePath: settings.storePath)
    }

    /// Returns the services that start before the server and stop after it. Begins to listen at once if there is a
    /// port.
    func services(_ server: Server, port: Int?, reloader: Reloader, status: String) async throws -> [any Service] {
        var services: [any Service] = []
        if let port { services.append(try await self.listen(on: port, server)) }
        services.append(
            Heartbeat(board: self.board, notifier: self.notifier, watchdogInterval: self.watchdogInterval) { answered in
                server.beat(answered)
            }
        )
        services.append(
            ReloadOnSignal(
                signals: await UnixSignalsSequence(trapping: .sighup),
                reloader: reloader,
                board: self.board,
                notifier: self.notifier,
                status: status
            )
        )
        // libdispatch takes a descriptor for the first sleep, as for a signal, and ends the process when there is none.
        // So it takes them before clients can use them up.
        try? await Task.sleep(for: .nanoseconds(1), clock: .continuous)
        try? await Task.sleep(for: .nanoseconds(1), clock: .suspending)
        return services
    }

    private func listen(on port: Int, _ server: Server) async throws -> OperationsListener {
        let (registry, process, board) = (self.registry, self.process, self.board)
        let listener = try await OperationsListener.bind(port: port, board: board) {
            let version = [(name: "version", value: ServerVersion.nest)]
            let build = MetricFamily(
                "nest_build_info",
                .gauge,
                help: MetricHelp.text(of: "nest_build_info"),
                samples: [.init(labels: version, value: 1)]
            )
            let ready = MetricFamily(
                "nest_ready",
                .gauge,
                help: MetricHelp.text(of: "nest_ready"),
                value: board.isReady ? 1 : 0
            )
            return [build, ready] + process.families() + registry.families()
        } engine: { answer in
            server.engineStatistics { answer(EngineMetrics.families($0)) }
        }
        Logger(label: "nestd").info("metrics.listening", metadata: ["address": "127.0.0.1:\(listener.port)"])
        return listener
    }

    /// Returns the steps that apply a new configuration while the server runs.
    func reloadSteps(_ server: Server) -> [ReloadStep] {
        let levelSwitch = self.levelSwitch
        return [
            ReloadStep("log") { settings in { levelSwitch.level = settings.level } },
            ReloadStep("limits") { settings in { server.apply(settings.liveLimits) } },
            ReloadStep("tls") { _ in try server.preparedCertificates() },
        ]
    }

    /// Reports that the server accepts requests.
    func ready(status: String) {
        self.board.set(.ready)
        self.notifier?.send(.ready(status: status))
    }

    /// Reports that a node of a cluster waits for the log or joins; `nil`: that it is ready again.
    func waiting(_ reason: String?) {
        self.board.set(reason.map { .waiting($0) } ?? .ready)
    }

    /// Reports that the server accepts no more requests, because it was asked to stop or because of a failure.
    func stopping(failure: String?) {
        self.board.set(failure.map { .failed($0) } ?? .draining)
        self.notifier?.send(.stopping)
    }
}
