import NestModel
import NestProtocol
import NestFraming

/// Predicates as text.
extension ClientConnection {
    /// Bytes of a predicate's text that take about as long to read as a control frame. The time is linear in the text.
    private static let textBytesPerFrame = 256

    /// Answers PARSE_PREDICATE. It needs nothing but the model, so the I/O layer answers it. Its work counts as control
    /// frames, so that a connection with long texts pauses for others.
    func parsePredicate(id: UInt32, _ message: ParsePredicate) throws(NestError) {
        for _ in 0..<message.text.utf8.count / Self.textBytesPerFrame { self.countControlFrame() }
        guard self.closing == nil else { return }
        // A refusal counts as the control frame that the request is.
        let predicate = try message.predicate(in: self.server.model, time: WallClock.now())
        self.countControlFrame()
        self.send(PredicateMessage(predicate).frame(id: id))
    }
}
