import Logging
import NIOCore
import NestModel
import NestProtocol

/// The log events of a connection.
extension ClientConnection {
    func logOpened() {
        self.server.logger.info(
            "connection.opened",
            metadata: [
                "connection": "\(self.id)",
                "client": "\(self.session.clientName)",
                "address": "\(self.slot.addressText)",
                "session": "\(self.session.number)",
                "token": "\(self.session.access.token.map { "\($0)" } ?? "none")",
                "role": "\(self.session.access.role)",
                "user": "\(self.session.access.user.map { LogText.shown($0) } ?? "none")",
            ]
        )
    }

    /// Logs a refused login, without any secret.
    func logRefused(_ token: AccessToken?, _ reason: String, isNotable: Bool = true) {
        self.server.logger.log(
            level: isNotable ? .notice : .debug,
            "login.refused",
            metadata: [
                "connection": "\(self.id)",
                "client": "\(self.session.clientName)",
                "address": "\(LogText.address(self.context?.remoteAddress))",
                "token": "\(token.map { "\($0.number)" } ?? "none")",
                "reason": "\(reason)",
            ]
        )
    }

    func logRefused(request: UInt32, _ error: NestError) {
        self.server.logger.debug(
            "request.refused",
            metadata: ["connection": "\(self.id)", "request": "\(request)", "code": "\(error.code)"]
        )
    }

    func logClosed() {
        self.reportBytes()
        self.server.logger.log(
            // There can be very many connections that end before WELCOME: the loop logs one line for all of them.
            level: self.session.wasWelcomed ? .info : .debug,
            "connection.closed",
            metadata: [
                "connection": "\(self.id)",
                "reason": "\(self.closing ?? .peer)",
                "requests": "\(self.quota.total)",
                "bytesIn": "\(self.inbound.totalByteCount)",
                "bytesOut": "\(self.output.writtenByteCount)",
                "milliseconds": "\((NIODeadline.now() - self.liveness.openedAt).nanoseconds / 1_000_000)",
            ]
        )
    }

    /// Adds the bytes written since the last call to the server's metrics. Called once a second, not at every write.
    func reportBytes() {
        let bytes = self.output.takeUnreported()
        if bytes > 0 { self.loop.count { $0.bytesOut += bytes } }
    }
}
