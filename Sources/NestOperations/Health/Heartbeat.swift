import NIOCore
import ServiceLifecycle

/// Sends a beat through the server's threads once a second, and notifies systemd's watchdog of each beat that returns.
///
/// So the watchdog depends on work that was done, not on a timer: if a thread hangs, the watchdog ends the process.
package final class Heartbeat: Service {
    private let board: HealthBoard
    private let notifier: ServiceNotifier?
    private let watchdogInterval: Duration?
    private let beat: @Sendable (_ answered: @escaping @Sendable () -> Void) -> Void

    /// `beat` visits every thread that must be alive and then calls `answered`, on any thread.
    package init(
        board: HealthBoard,
        notifier: ServiceNotifier?,
        watchdogInterval: Duration?,
        beat: @escaping @Sendable (_ answered: @escaping @Sendable () -> Void) -> Void
    ) {
        self.board = board
        self.notifier = notifier
        self.watchdogInterval = watchdogInterval
        self.beat = beat
    }

    /// Runs until the service group shuts down. From then on systemd's time-out for stopping applies instead of the
    /// watchdog.
    package func run() async throws {
        let interval = min(.seconds(1), (self.watchdogInterval ?? .seconds(3)) / 3)
        await cancelWhenGracefulShutdown {
            while !Task.isCancelled {
                if self.isBeating { self.send() }
                // Cancelling ends the sleep, and then the loop.
                try? await Task.sleep(for: interval)
            }
        }
    }

    /// A node of a cluster that waits for its log has a heartbeat: systemd's watchdog must not end it.
    private var isBeating: Bool {
        switch self.board.health {
        case .ready, .waiting: true
        case .starting, .draining, .failed: false
        }
    }

    private func send() {
        guard self.board.beginBeat(at: .now()) else { return }
        self.beat {
            self.board.endBeat()
            if self.watchdogInterval != nil { self.notifier?.send(.watchdog) }
        }
    }
}
