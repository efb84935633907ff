/// Takes the members of an object one by one. For each wrong member it keeps a fault: its path and what is allowed
/// there.
struct JSONMembers {
    let path: String
    private var members: [JSONElement.Member]
    /// The names that the caller took.
    private var known: [String] = []
    private(set) var faults: [String] = []
    /// Whether the node is an object; otherwise that is the only fault.
    private let isObject: Bool

    init(_ node: JSONElement, at path: String) {
        self.path = path
        if case .object(let members) = node {
            self.members = members
            self.isObject = true
        } else {
            self.members = []
            self.isObject = false
            self.faults = ["\(path.isEmpty ? "the model" : path): an object is expected, not \(node.typeName)"]
        }
    }

    func path(of name: String) -> String { self.path.isEmpty ? name : "\(self.path).\(name)" }

    mutating func fault(_ name: String, _ text: String) { self.faults.append("\(self.path(of: name)): \(text)") }

    /// Takes the member with this name; `nil` when there is none.
    mutating func take(_ name: String) -> JSONElement? {
        self.known.append(name)
        guard let index = self.members.firstIndex(where: { $0.name == name }) else { return nil }
        return self.members.remove(at: index).value
    }

    /// Refuses members that the caller did not take: a misspelled name would otherwise be silently lost.
    mutating func finish() {
        for member in self.members {
            self.fault(member.name, "not known here; the known names are \(self.known.joined(separator: ", "))")
        }
    }

    mutating func string(_ name: String) -> String? {
        switch self.take(name) {
        case nil: return nil
        case .string(let text)? where !text.isEmpty: return text
        case .string?: self.fault(name, "it is empty")
        case let node?: self.fault(name, "a string is expected, not \(node.typeName)")
        }
        return nil
    }

    mutating func requiredString(_ name: String) -> String {
        let count = self.faults.count
        if let text = self.string(name) { return text }
        if self.faults.count == count, self.isObject { self.fault(name, "it is missing") }
        return ""
    }

    mutating func boolean(_ name: String, default value: Bool) -> Bool {
        switch self.take(name) {
        case nil: return value
        case .boolean(let value)?: return value
        case let node?: self.fault(name, "true or false is expected, not \(node.typeName)")
        }
        return value
    }

    /// A whole number in a range; `nil` when there is none or it is out of range.
    mutating func integer(_ name: String, in range: ClosedRange<Int>) -> Int? {
        switch self.take(name) {
        case nil: return nil
        case .number(let text)?:
            if let value = Int(text), range.contains(value) { return value }
            self.fault(name, "a whole number from \(range.lowerBound) to \(range.upperBound) is expected, not \(text)")
        case let node?: self.fault(name, "a whole number is expected, not \(node.typeName)")
        }
        return nil
    }

    /// The elements of an array, each with its path; empty when there is no array.
    mutating func array(_ name: String) -> [(node: JSONElement, path: String)] {
        switch self.take(name) {
        case nil: break
        case .array(let elements)?:
            return elements.enumerated().map { ($0.element, "\(self.path(of: name))[\($0.offset)]") }
        case let node?: self.fault(name, "an array is expected, not \(node.typeName)")
        }
        return []
    }

    /// The value of one of the allowed words; `nil` when the member is missing or another word.
    mutating func word<Value>(_ name: String, of words: [(String, Value)]) -> Value? {
        guard let text = self.string(name) else { return nil }
        if let found = words.first(where: { $0.0 == text }) { return found.1 }
        self.fault(name, "'\(text)' is not one of \(words.map(\.0).joined(separator: ", "))")
        return nil
    }
}
