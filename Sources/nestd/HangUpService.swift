import NestServer
import ServiceLifecycle
import UnixSignals

/// Has the server read its certificate and key again when SIGHUP comes.
struct HangUpService: Service {
    let server: Server

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        for await _ in signals.cancelOnGracefulShutdown() { self.server.reloadCertificates() }
    }
}
