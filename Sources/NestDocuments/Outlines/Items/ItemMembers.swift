/// What a line of a file says about an item besides its title, note and mark, by name: members of its `extra`, and
/// attributes. Org writes them as properties, TaskPaper as tags. What these cannot hold is JSON with the name
/// `ItemMembers.rest`.
struct ItemMembers: Equatable, Sendable {
    /// The name of the JSON for values that are not a text on one line.
    static let rest = "nest-extra"
    /// The name of the tags without a value: an array of texts.
    static let tags = "tags"
    /// A limit, so that an item's names can be compared.
    static let countMax = 1_000

    private var members: [String: JSONElement] = [:]
    /// All of an `extra` that is not a JSON object.
    private var text: String?

    init() {}

    /// Takes the row's `extra` and its attributes.
    init(_ row: OutlineRow, _ losses: inout LossCounts) {
        if let extra = row.extra {
            switch JSONElement(extra: extra) {
            case .object(let members) where members.count <= Self.countMax && Self.areDistinct(members):
                for member in members { self.members[member.name] = member.value }
            default: self.text = extra
            }
        }
        for attribute in row.attributes {
            guard let text = attribute.text else { continue }
            let words = text.split(separator: " ").map { JSONElement.string(String($0)) }
            let value = attribute.name == Self.tags ? JSONElement.array(words) : .string(text)
            if !self.add(attribute.name, value) {
                losses.add("attributes left out (a value of extra has their name)")
            }
        }
    }

    private static func areDistinct(_ members: [JSONElement.Member]) -> Bool {
        Set(members.map(\.name)).count == members.count && !members.contains { $0.name == Self.rest }
    }

    /// The names, in order.
    var names: [String] { self.members.keys.sorted() }
    var count: Int { self.members.count }

    subscript(name: String) -> JSONElement? { self.members[name] }

    /// Returns `nil` if the value is not a text.
    func string(_ name: String) -> String? {
        if case .string(let text) = self.members[name] { text } else { nil }
    }

    /// Returns `false` if the name is known already, or there are too many.
    mutating func add(_ name: String, _ value: JSONElement) -> Bool {
        guard self.members.count < Self.countMax, self.members[name] == nil else { return false }
        self.members[name] = value
        return true
    }

    mutating func remove(_ name: String) { self.members[name] = nil }

    /// Adds what `restText` has written. Returns `false`, and changes nothing, if the text is anything else.
    mutating func add(rest: [UInt8]) -> Bool {
        guard let value = try? JSONElement.parse(rest), value.text.utf8.elementsEqual(rest) else { return false }
        switch value {
        case .string(let text) where self.text == nil: self.text = text
        case .array(let parts):
            guard parts.count == 2, case .string(let text) = parts[0], case .object(let members) = parts[1] else {
                return false
            }
            var all = self
            guard all.text == nil, all.add(members) else { return false }
            all.text = text
            self = all
        case .object(let members):
            var all = self
            guard all.add(members) else { return false }
            self = all
        default: return false
        }
        return true
    }

    private mutating func add(_ members: [JSONElement.Member]) -> Bool {
        !members.isEmpty && members.allSatisfy { self.add($0.name, $0.value) }
    }

    /// Returns JSON for the members with these names, and for an `extra` that is not an object.
    func restText(_ names: [String]) -> String? {
        let members = names.sorted().compactMap { name in self.members[name].map { JSONElement.Member(name, $0) } }
        guard let text else { return members.isEmpty ? nil : JSONElement.object(members).text }
        return members.isEmpty
            ? JSONElement.string(text).text : JSONElement.array([.string(text), .object(members)]).text
    }

    /// Gives the row its attributes and its `extra`.
    func apply(to row: inout OutlineRow, _ fields: OutlineFields, _ losses: inout LossCounts) {
        var extra = OutlineExtra()
        for name in self.names {
            guard let value = self.members[name] else { continue }
            if fields.attributes.contains(name) {
                row.attributes.append(
                    OutlineAttribute(
                        name,
                        Self.value(value, isDate: fields.dates.contains(name), &losses),
                        isText: true
                    )
                )
            } else {
                extra[name] = value
            }
        }
        guard let text else { return row.extra = extra.text }
        row.extra = text
        losses.add("values left out (extra is a text)", count: extra.members.count)
    }

    private static func value(_ value: JSONElement, isDate: Bool, _ losses: inout LossCounts) -> JSONElement {
        switch value {
        case .string(let text) where isDate:
            guard let date = FileDate(text) else { return value }
            if date.isCut { losses.add("repeaters, ranges and delays of dates left out") }
            return .string(date.text)
        case .array(let elements):
            let words = elements.compactMap { if case .string(let word) = $0 { word } else { nil } }
            return words.count == elements.count ? .string(words.joined(separator: " ")) : value
        default: return value
        }
    }
}
