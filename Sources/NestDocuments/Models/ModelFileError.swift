/// A model file that gives no model.
public struct ModelFileError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Reason: Sendable {
        /// There is no such file.
        case missing
        /// The file system refuses to read it.
        case unreadable
        /// What it holds is no model that nest can have.
        case invalid
    }

    public var reason: Reason
    /// The file, as it was named.
    public var name: String
    /// Everything that is wrong, in sentences; at least one.
    public var faults: [String]

    public init(_ reason: Reason, name: String, faults: [String]) {
        self.reason = reason
        self.name = name
        self.faults = faults
    }

    init(_ fault: FormatError, name: String) {
        self.init(.invalid, name: name, faults: [fault.description])
    }

    public var description: String { self.faults.map { "\(self.name): \($0)" }.joined(separator: "\n") }
}
