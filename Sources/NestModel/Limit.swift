/// One bound as a table says it: its name in `Limits`, its value, and what it means for who meets it.
public struct Limit: Sendable {
    /// What becomes of what goes beyond.
    public enum Beyond: String, CaseIterable, Sendable {
        /// The request is answered by an error, or the connection that asks for a place by BUSY.
        case refused
        /// The connection ends.
        case closed
        /// It is taken later.
        case waits
        /// The rest is left out or forgotten.
        case cut
        /// Nothing that could be told by its answers: how the work is divided.
        case inner
    }

    public let name: String
    public let value: Int64
    public let beyond: Beyond
    /// For people, in one line.
    public let what: String

    init(_ name: String, _ value: Int, _ beyond: Beyond, _ what: String) {
        self.name = name
        self.value = Int64(value)
        self.beyond = beyond
        self.what = what
    }
}
