import NIOCore
import NestEngine
import NestModel
import NestWire

/// What the engine delivers.
extension Connection {
    /// Takes one item of a delivery. Returns whether this is the first since the last `settle`.
    func deliver(_ content: Delivery.Content) -> Bool {
        switch content {
        case .welcome(let welcome):
            self.welcome(welcome)
        case .frames(let buffer, let answered):
            guard self.closing == nil else { return false }
            if !self.isTouched, !self.output.mayBeginDelivery(max: self.loop.outputBytesMax) {
                self.finishSlowConsumer()
                return false
            }
            self.answered(answered)
            self.send(buffer)
        case .whenDrained:
            guard self.closing == nil else { return false }
            self.output.askForDrain()
        }
        defer { self.isTouched = true }
        return !self.isTouched
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
                pingIntervalMilliseconds: Int(self.server.configuration.timing.pingInterval.nanoseconds / 1_000_000)
            )
            self.send(message.frame(id: 0))
            self.logOpened(sessionNumber: welcome.sessionNumber)
        }
    }
}
