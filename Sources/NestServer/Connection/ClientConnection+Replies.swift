import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// What the engine delivers.
extension ClientConnection {
    /// Takes one item of a delivery. Returns whether this is the first since the last `settle`.
    func deliver(_ content: Delivery.Content) -> Bool {
        switch content {
        case .welcome(let welcome):
            self.welcome(welcome)
        case .frames(let buffer, let answered):
            guard self.mayTakeDelivery() else { return false }
            self.answered(answered)
            self.send(buffer)
        case .compressible(let frame, let answered):
            guard self.mayTakeDelivery() else { return false }
            if let answered { self.answered([answered]) }
            self.send(frame)
        case .end(let error):
            guard self.closing == nil else { return false }
            self.expel(error)
            return false
        case .whenDrained:
            guard self.closing == nil else { return false }
            self.output.askForDrain()
        }
        defer { self.isTouched = true }
        return !self.isTouched
    }

    private func mayTakeDelivery() -> Bool {
        guard self.closing == nil else { return false }
        if !self.isTouched, !self.output.mayBeginDelivery(max: self.outputBytesMax) {
            self.finishSlowConsumer()
            return false
        }
        return true
    }

    private var outputBytesMax: Int {
        TokenLimits.smaller(self.access.limits.outputBytes, self.loop.outputBytesMax)
    }

    private func welcome(_ welcome: EngineWelcome) {
        switch self.machine.welcomed(historyID: welcome.historyID, modelHash: welcome.modelHash) {
        case .ignore:
            break
        case .close(let error):
            self.fail(error)
        case .welcome(let features):
            self.features = features
            self.sessionNumber = welcome.sessionNumber
            self.decoder.bodyBytesMax = Limits.frameBytesMax
            let message = Welcome(
                serverName: self.server.configuration.serverName,
                features: features,
                historyID: welcome.historyID,
                revision: welcome.revision,
                oldestRevision: welcome.oldestRevision,
                modelHash: welcome.modelHash,
                sessionNumber: welcome.sessionNumber,
                pingIntervalMilliseconds: Int(self.server.configuration.timing.pingInterval.nanoseconds / 1_000_000),
                requestsInFlightMax: self.access.requestsInFlightMax,
                subscriptionsMax: self.access.subscriptionsMax,
                role: self.access.role,
                confinement: self.access.confinement
            )
            self.send(message.frame(id: 0))
            self.logOpened(sessionNumber: welcome.sessionNumber)
        }
    }
}
