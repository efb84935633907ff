import Foundation

/// A file of `Tests/Vectors` that a test writes from the code, for clients in other languages.
///
/// The test compares the stored file with what the code gives. With `NEST_WRITE_VECTORS=1` it writes the file.
public struct VectorFile {
    private let path: String
    private var parts: [(name: String, value: JSONValue)]

    /// `about`: what the file holds and how to use it.
    public init(_ name: String, about: String) {
        self.path = "Tests/Vectors/\(name).json"
        self.parts = [("about", .string(about))]
    }

    /// Adds a member of the file's object. A list gets a line for each element.
    public mutating func add(_ name: String, _ value: JSONValue) {
        self.parts.append((name, value))
    }

    var text: String {
        let members = self.parts.map { name, value in
            guard case .array(let elements) = value, !elements.isEmpty else { return "  \"\(name)\": \(value.line)" }
            return "  \"\(name)\": [\n    \(elements.map(\.line).joined(separator: ",\n    "))\n  ]"
        }
        return "{\n\(members.joined(separator: ",\n"))\n}\n"
    }

    /// Returns the first line of the stored file that differs from the code, and the line that the code gives; `nil` if
    /// the file is the same.
    public func difference() throws -> String? {
        if ProcessInfo.processInfo.environment["NEST_WRITE_VECTORS"] == "1" {
            try self.text.write(to: Repository.root.appending(path: self.path), atomically: true, encoding: .utf8)
        }
        let stored = (try? Repository.text(self.path))?.split(separator: "\n", omittingEmptySubsequences: false) ?? []
        let lines = self.text.split(separator: "\n", omittingEmptySubsequences: false)
        for index in 0..<max(stored.count, lines.count) {
            let (old, new) = (index < stored.count ? stored[index] : "", index < lines.count ? lines[index] : "")
            if !old.utf8.elementsEqual(new.utf8) {
                return "\(self.path):\(index + 1): the file has \(old)\nthe code gives \(new)\n"
                    + "NEST_WRITE_VECTORS=1 writes the file"
            }
        }
        return nil
    }
}
