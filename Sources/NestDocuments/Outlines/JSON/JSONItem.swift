import Foundation

/// An item in the form of a JSON object.
///
/// Its members are `title`, `note`, `done`, `extra`, and in JSON lines `depth`, `id` and `parent`, or other programs'
/// names for them. The row's `extra` keeps members that are neither these nor attributes of the item.
struct JSONItem: Sendable {
    static let childrenNames = ["children", "ch", "items", "subitems"]
    private static let titleNames = ["title", "text", "name", "nm", "content"]
    private static let noteNames = ["note", "_note", "notes", "no", "description"]
    private static let doneNames = ["done", "completed", "complete", "checked", "_complete"]
    fileprivate static let depthNames = ["depth", "level"]
    fileprivate static let parentNames = ["parent", "parent_id", "parentId", "parentID"]

    /// The names of an item's members.
    struct Names: Sendable {
        fileprivate let title: [String]
        fileprivate let note: [String]
        fileprivate let done: [String]
        fileprivate let attributes: [String]

        init(_ fields: OutlineFields) {
            self.title = fields.names(of: fields.title, others: JSONItem.titleNames)
            self.note = fields.names(of: fields.note, others: JSONItem.noteNames)
            self.done = fields.names(of: fields.done, others: JSONItem.doneNames)
            self.attributes = fields.attributes
        }

        static let ofLists = Names(OutlineFields())
    }

    var title: String?
    var note: String?
    var done = false
    var position = TreePosition()
    fileprivate var attributes: [OutlineAttribute] = []
    /// The value of `extra`, as a row has it.
    fileprivate var extra: String?
    /// All other members.
    fileprivate var foreign = OutlineExtra()
    var hasForeign: Bool { !self.foreign.isEmpty }
    var hasChildren = false
    /// Whether it has no members but children.
    var isOnlyChildren = false

    /// Reads one object. `hasPosition`: whether to read members for the item's position in the tree. `start`: where the
    /// text begins. `isWhole`: whether the file has exactly this text, so that faults have locations.
    static func parse(
        _ bytes: some Collection<UInt8>,
        _ names: Names = .ofLists,
        hasPosition: Bool,
        start: TextLocation,
        isWhole: Bool
    ) throws(FormatError) -> JSONItem {
        let source = JSONText.Source(start: start, isVerbatim: isWhole, startsItem: true)
        let context: [CodingUserInfoKey: any Sendable] = [Self.hasPositionKey: hasPosition, Self.namesKey: names]
        return try JSONText.decode(JSONItem.self, from: bytes, source, context)
    }

    func row(depth: Int) -> OutlineRow {
        var row = OutlineRow(
            depth: depth,
            title: self.title ?? "",
            note: self.note,
            done: self.done,
            extra: self.extraText
        )
        row.attributes = self.attributes
        return row
    }

    /// `extra`, with the foreign members added to its own.
    private var extraText: String? {
        guard self.hasForeign else { return self.extra }
        var merged = self.extra.map { OutlineExtra($0) ?? OutlineExtra(extra: $0) } ?? OutlineExtra()
        for member in self.foreign.members { merged[member.name] = member.value }
        return merged.text
    }

    fileprivate static let hasPositionKey = CodingUserInfoKey(rawValue: "hasPosition")!
    fileprivate static let namesKey = CodingUserInfoKey(rawValue: "names")!
}

extension OutlineExtra {
    /// Creates an object with an `extra` that is not a JSON object as a member, so that other members can be added.
    init(extra: String) {
        self.init()
        self["extra"] = .string(extra)
    }
}

private struct AnyKey: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) { nil }
}

extension JSONItem: Decodable {
    init(from decoder: any Decoder) throws {
        let members = try Self.members(decoder)
        let hasPosition = decoder.userInfo[Self.hasPositionKey] as? Bool ?? false
        let known = decoder.userInfo[Self.namesKey] as? Names ?? .ofLists
        var names = Set(members.allKeys.map(\.stringValue))
        /// Takes the first of these names that the object has.
        func take(_ candidates: [String]) -> AnyKey? {
            guard let name = candidates.first(where: names.contains) else { return nil }
            names.remove(name)
            return AnyKey(stringValue: name)
        }
        if let key = take(known.title) { self.title = try Self.text(members, key) ?? "" }
        if let key = take(known.note) { self.note = try Self.text(members, key) }
        if let key = take(known.done) { self.done = try Self.flag(members, key) }
        if let key = take(["extra"]) { self.extra = try Self.extra(members, key) }
        if let key = take(Self.childrenNames) {
            self.hasChildren = true
            let isNull = try members.decodeNil(forKey: key)
            // The tree reader reads children as items of their own, and leaves numbers in their place.
            if !isNull, (try? members.decode([Int].self, forKey: key)) == nil {
                throw JSONFault(message: "\(key.stringValue) is not an array of objects")
            }
        }
        self.isOnlyChildren = self.hasChildren && members.allKeys.count == 1
        if hasPosition { self.position = try Self.position(members, &names) }
        for name in known.attributes where names.remove(name) != nil {
            let value = try members.decode(JSONElement.self, forKey: AnyKey(stringValue: name))
            self.attributes.append(OutlineAttribute(name, value))
        }
        // Workflowy writes the time at which the item was completed.
        if !known.done.isEmpty, names.contains("cp") {
            self.done = try !members.decodeNil(forKey: AnyKey(stringValue: "cp"))
        }
        for name in names {
            self.foreign[name] = try members.decode(JSONElement.self, forKey: AnyKey(stringValue: name))
        }
    }

    private static func members(_ decoder: any Decoder) throws -> KeyedDecodingContainer<AnyKey> {
        do {
            return try decoder.container(keyedBy: AnyKey.self)
        } catch DecodingError.typeMismatch {
            throw JSONFault(message: "an item must be a JSON object")
        }
    }

    private static func position(_ members: KeyedDecodingContainer<AnyKey>, _ names: inout Set<String>) throws
        -> TreePosition
    {
        var position = TreePosition()
        if let name = self.depthNames.first(where: names.contains) {
            names.remove(name)
            guard let depth = try? members.decode(Int.self, forKey: AnyKey(stringValue: name)), depth >= 0 else {
                throw JSONFault(message: "\(name) is not a number from 0")
            }
            position.depth = depth
        }
        if names.remove("id") != nil { position.id = try Self.identifier(members, AnyKey(stringValue: "id")) }
        if let name = self.parentNames.first(where: names.contains) {
            names.remove(name)
            position.hasParent = true
            position.parent = try Self.identifier(members, AnyKey(stringValue: name))
        }
        return position
    }

    /// Tries whole numbers first: most ids are whole numbers, and a first try that succeeds costs least.
    private static func identifier(_ members: KeyedDecodingContainer<AnyKey>, _ key: AnyKey) throws -> String? {
        if try members.decodeNil(forKey: key) { return nil }
        if let number = try? members.decode(Int64.self, forKey: key) { return "\(number)" }
        return try Self.text(members, key)
    }

    /// Returns a string, or the digits of a number; `nil` for null.
    private static func text(_ members: KeyedDecodingContainer<AnyKey>, _ key: AnyKey) throws -> String? {
        if try members.decodeNil(forKey: key) { return nil }
        if let text = try? members.decode(String.self, forKey: key) { return text }
        switch try members.decode(JSONElement.self, forKey: key) {
        case .number(let digits): return digits
        case let other: throw JSONFault(message: "\(key.stringValue) is not a text but \(other.typeName)")
        }
    }

    private static func flag(_ members: KeyedDecodingContainer<AnyKey>, _ key: AnyKey) throws -> Bool {
        if let flag = try? members.decode(Bool.self, forKey: key) { return flag }
        switch try members.decode(JSONElement.self, forKey: key) {
        case .null: return false
        case .number(let digits): return Double(digits) != 0
        case .string(let text):
            if let flag = DoneText.flag(text) { return flag }
            throw JSONFault(message: "\(key.stringValue) is neither yes nor no but \"\(text.prefix(60))\"")
        case let other: throw JSONFault(message: "\(key.stringValue) is neither true nor false but \(other.typeName)")
        }
    }

    private static func extra(_ members: KeyedDecodingContainer<AnyKey>, _ key: AnyKey) throws -> String? {
        switch try members.decode(JSONElement.self, forKey: key) {
        case .null: nil
        case .string(let text): text
        case let other: other.text
        }
    }
}
