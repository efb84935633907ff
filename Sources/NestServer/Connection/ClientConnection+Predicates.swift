import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// Predicates as text.
extension ClientConnection {
    /// Bytes of a predicate's text that count as a control frame: reading the longest takes some milliseconds.
    private static let textBytesPerFrame = 32
    /// Control frames that a refusal counts as: its message compares a wrong name with all that the entity has.
    private static let framesPerRefusal = 64

    /// Answers PARSE_PREDICATE. It needs nothing but the model, so the I/O layer answers it. Its work counts as control
    /// frames, so that a connection with long or wrong texts pauses for others.
    func parsePredicate(id: UInt32, _ message: ParsePredicate) throws(NestError) {
        self.countControlFrames(1 + message.text.utf8.count / Self.textBytesPerFrame)
        guard self.closing == nil else { return }
        do throws(NestError) {
            let predicate = try message.predicate(in: self.model.model, time: WallClock.now())
            self.send(PredicateMessage(predicate).frame(id: id))
        } catch {
            self.countControlFrames(Self.framesPerRefusal)
            throw error
        }
    }

    private func countControlFrames(_ count: Int) {
        for _ in 0..<count { self.countControlFrame() }
    }
}
