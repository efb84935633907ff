/// The error for a model file that cannot be read or has no valid model.
public struct ModelFileError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Reason: Sendable {
        /// There is no such file.
        case missing
        /// The file system refuses to read it.
        case unreadable
        /// The content is not a model that nest supports.
        case invalid
    }

    public var reason: Reason
    /// The file, as the caller named it.
    public var name: String
    /// All faults, in sentences; at least one.
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
