import NestOperations
import ServiceLifecycle
import UnixSignals

/// Reads the configuration again on SIGHUP, and notifies systemd when that begins and ends.
struct ReloadOnSignal: Service {
    /// Each SIGHUP.
    let signals: UnixSignalsSequence
    let reloader: Reloader
    let board: HealthBoard
    let notifier: ServiceNotifier?
    /// The status that systemd shows.
    let status: String

    func run() async throws {
        await cancelWhenGracefulShutdown {
            for await _ in self.signals {
                // Settings that are applied before the server runs would be lost.
                while self.board.health == .starting, !Task.isCancelled {
                    try? await Task.sleep(for: .milliseconds(50))
                }
                self.notifier?.send(.reloading)
                let isGood = self.reloader.reload()
                self.notifier?.send(
                    .ready(status: isGood ? self.status : "\(self.status); the last reload was refused")
                )
            }
        }
    }
}
