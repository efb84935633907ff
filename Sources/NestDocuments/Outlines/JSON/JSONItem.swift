import Foundation

/// An item as a JSON object says it.
///
/// Its members are `title`, `note`, `done`, `extra`, and in JSON lines `depth`, `id` and `parent`; other programs' names
/// for them are understood. Members that are none of these and no attributes of the item are kept in the row's `extra`.
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

    /// What a line of JSON lines says of the item's place.
    struct Place: Sendable, Equatable {
        var depth: Int?
        var id: String?
        /// Of an item that has a parent.
        var parent: String?
        var hasParent = false
    }

    var title: String?
    var note: String?
    var done = false
    var place = Place()
    fileprivate var attributes: [OutlineAttribute] = []
    /// The value of `extra` as it stands in a row.
    fileprivate var extra: String?
    /// All others.
    fileprivate var foreign = OutlineExtra()
    var hasForeign: Bool { !self.foreign.isEmpty }
    var hasChildren = false
    /// It says nothing but children.
    var isOnlyChildren = false

    /// Reads one object. `hasPlace` says whether members for the place are understood. `start` is where the
    /// text begins; `isWhole` says that it stands in the file as it is here, so that a fault's own place can be told.
    static func parse(
        _ bytes: some Collection<UInt8>,
        _ names: Names = .ofLists,
        hasPlace: Bool,
        start: TextPosition,
        isWhole: Bool
    ) throws(FormatError) -> JSONItem {
        let decoder = JSONDecoder()
        decoder.userInfo[Self.hasPlaceKey] = hasPlace
        decoder.userInfo[Self.namesKey] = names
        do {
            return try decoder.decode(JSONItem.self, from: Data(bytes))
        } catch let fault as ItemFault {
            throw start.failure(fault.message)
        } catch {
            // The text is wrong: its own reading says where. If it does not, an object nests too deeply or is none.
            do throws(FormatError) {
                guard case .object = try JSONElement.parse(bytes) else { throw FormatError("an item is a JSON object") }
                throw FormatError("not an item: \(error)")
            } catch {
                guard isWhole, error.line > 0 else { throw start.failure(error.message) }
                // Foundation does not always say where; then it is the item.
                guard error.column > 0 else { throw FormatError(line: start.line, column: start.column, error.message) }
                let column = error.column + (error.line == 1 ? start.column - 1 : 0)
                throw FormatError(line: start.line + error.line - 1, column: column, error.message)
            }
        }
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

    /// `extra`, with what is foreign among its members.
    private var extraText: String? {
        guard self.hasForeign else { return self.extra }
        var merged = self.extra.map { OutlineExtra($0) ?? OutlineExtra(extra: $0) } ?? OutlineExtra()
        for member in self.foreign.members { merged[member.name] = member.value }
        return merged.text
    }

    fileprivate static let hasPlaceKey = CodingUserInfoKey(rawValue: "hasPlace")!
    fileprivate static let namesKey = CodingUserInfoKey(rawValue: "names")!
}

extension OutlineExtra {
    /// A text that is no JSON object, among other members.
    init(extra: String) {
        self.init()
        self["extra"] = .string(extra)
    }
}

private struct ItemFault: Error {
    var message: String
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
        let members = try decoder.container(keyedBy: AnyKey.self)
        let hasPlace = decoder.userInfo[Self.hasPlaceKey] as? Bool ?? false
        let known = decoder.userInfo[Self.namesKey] as? Names ?? .ofLists
        var names = Set(members.allKeys.map(\.stringValue))
        /// The first of the names that the object has.
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
            // The children themselves are read apart; each left a number.
            if !isNull, (try? members.decode([Int].self, forKey: key)) == nil {
                throw ItemFault(message: "\(key.stringValue) is not an array of objects")
            }
        }
        self.isOnlyChildren = self.hasChildren && members.allKeys.count == 1
        if hasPlace { self.place = try Self.place(members, &names) }
        for name in known.attributes where names.remove(name) != nil {
            let value = try members.decode(JSONElement.self, forKey: AnyKey(stringValue: name))
            self.attributes.append(OutlineAttribute(name, value))
        }
        // A time at which it was done, as Workflowy writes it.
        if !known.done.isEmpty, names.contains("cp") {
            self.done = try !members.decodeNil(forKey: AnyKey(stringValue: "cp"))
        }
        for name in names {
            self.foreign[name] = try members.decode(JSONElement.self, forKey: AnyKey(stringValue: name))
        }
    }

    private static func place(_ members: KeyedDecodingContainer<AnyKey>, _ names: inout Set<String>) throws -> Place {
        var place = Place()
        if let name = self.depthNames.first(where: names.contains) {
            names.remove(name)
            guard let depth = try? members.decode(Int.self, forKey: AnyKey(stringValue: name)), depth >= 0 else {
                throw ItemFault(message: "\(name) is not a number from 0")
            }
            place.depth = depth
        }
        if names.remove("id") != nil { place.id = try Self.identifier(members, AnyKey(stringValue: "id")) }
        if let name = self.parentNames.first(where: names.contains) {
            names.remove(name)
            place.hasParent = true
            place.parent = try Self.identifier(members, AnyKey(stringValue: name))
        }
        return place
    }

    /// Most are whole numbers: what is tried first costs least.
    private static func identifier(_ members: KeyedDecodingContainer<AnyKey>, _ key: AnyKey) throws -> String? {
        if try members.decodeNil(forKey: key) { return nil }
        if let number = try? members.decode(Int64.self, forKey: key) { return "\(number)" }
        return try Self.text(members, key)
    }

    /// A string, or the digits of a number; `nil` for null.
    private static func text(_ members: KeyedDecodingContainer<AnyKey>, _ key: AnyKey) throws -> String? {
        if try members.decodeNil(forKey: key) { return nil }
        if let text = try? members.decode(String.self, forKey: key) { return text }
        switch try members.decode(JSONElement.self, forKey: key) {
        case .number(let digits): return digits
        case let other: throw ItemFault(message: "\(key.stringValue) is not a text but \(other.typeName)")
        }
    }

    private static func flag(_ members: KeyedDecodingContainer<AnyKey>, _ key: AnyKey) throws -> Bool {
        if let flag = try? members.decode(Bool.self, forKey: key) { return flag }
        switch try members.decode(JSONElement.self, forKey: key) {
        case .null: return false
        case .number(let digits): return Double(digits) != 0
        case .string(let text):
            if let flag = DoneText.flag(text) { return flag }
            throw ItemFault(message: "\(key.stringValue) is neither yes nor no but \"\(text.prefix(60))\"")
        case let other: throw ItemFault(message: "\(key.stringValue) is neither true nor false but \(other.typeName)")
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
