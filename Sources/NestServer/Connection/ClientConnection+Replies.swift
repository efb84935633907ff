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
            self.output.queue.askForDrain()
        }
        return self.output.beginDelivery()
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
