import NIOCore
import NestEngine
import NestModel
import NestProtocol

/// The engine's deliveries.
extension ClientConnection {
    /// Handles one item of a delivery. Returns whether it is the first since the last `settle`.
    func deliver(_ content: Delivery.Content) -> Bool {
        switch content {
        case .welcome(let welcome):
            self.welcome(welcome)
        case .frames(let buffer, let answered):
            guard self.mayTakeDelivery() else { return false }
            self.answered(answered)
            self.send(buffer)
        case .mark(let buffer):
            guard self.mayTakeDelivery() else { return false }
            self.send(buffer)
        case .compressible(let frame, let answered):
            guard self.mayTakeDelivery() else { return false }
            if let answered { self.answered([answered]) }
            self.send(frame)
        case .model(let model, let frame):
            guard self.mayTakeDelivery() else { return false }
            self.changed(to: model, frame)
        case .end(let error):
            guard self.closing == nil else { return false }
            self.expel(error)
            return false
        case .whenDrained:
            guard self.closing == nil else { return false }
            self.output.queue.askForDrain()
        }
        return self.output.beginDelivery()
    }

    /// Follows a change of the server's model. A client that does not know such changes connects again, and compares
    /// the models then.
    private func changed(to model: ServedModel, _ frame: CompressibleFrame) {
        // A standby may have welcomed the client with the new model already.
        guard self.session.wasWelcomed, self.session.model !== model else { return }
        self.session.model = model
        if self.session.features.contains(.modelChanges) { self.send(frame) } else { self.drain(.modelGrown) }
    }

    private func mayTakeDelivery() -> Bool {
        guard self.closing == nil else { return false }
        if !self.output.isInDelivery, !self.output.queue.mayBeginDelivery(max: self.outputBytesMax) {
            self.finishSlowConsumer()
            return false
        }
        return true
    }

    private var outputBytesMax: Int {
        TokenLimits.smaller(self.session.access.limits.outputBytes, self.loop.outputBytesMax)
    }

    /// Stops counting requests that the engine has answered.
    private func answered(_ requests: [UInt32]) {
        guard !requests.isEmpty else { return }
        self.quota.answered(requests)
        self.transfers.answered(requests)
    }
}
