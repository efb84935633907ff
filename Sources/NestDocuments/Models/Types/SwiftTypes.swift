import NestModel

/// A model as Swift types for `NestClient`: a structure for each entity, with its paths and its assignments.
///
/// The text depends on the names and types of the model only, not on its numbers: equal models give equal bytes.
package struct SwiftTypes {
    private let model: TypesModel
    /// The enumeration that the types are in; `nil`: none.
    private let namespace: String?
    private let isPublic: Bool
    private let typeNames: [String: String]
    private var lines: [String] = []

    /// Returns the text of a Swift file. `namespace` is a name that `SwiftName.isNamespace` admits and that no entity
    /// has.
    package static func text(
        of model: ManagedObjectModel,
        namespace: String? = nil,
        isPublic: Bool = false
    ) -> String {
        var types = SwiftTypes(TypesModel(model), namespace: namespace, isPublic: isPublic)
        types.write()
        return types.lines.joined(separator: "\n") + "\n"
    }

    private init(_ model: TypesModel, namespace: String?, isPublic: Bool) {
        self.model = model
        self.namespace = namespace
        self.isPublic = isPublic
        self.typeNames = SwiftName.types(model.entities.map(\.name))
    }

    private var access: String { self.isPublic ? "public " : "" }

    private mutating func write() {
        self.lines = [
            "// swift-format-ignore-file",
            "// Written by `nestc model generate swift`. Do not edit: change the model, and write it again.",
            "",
            self.isPublic ? "public import Foundation" : "import Foundation",
            self.isPublic ? "public import NestClient" : "import NestClient",
        ]
        if let namespace = self.namespace { self.lines += ["", "\(self.access)enum \(namespace) {}"] }
        for entity in self.model.entities { self.write(entity) }
    }

    private mutating func write(_ entity: TypesModel.Entity) {
        let name = self.typeNames[entity.name] ?? entity.name
        let names = SwiftName.members(entity.names)
        var columns = entity.attributes.map { (name: $0.name, type: self.type($0)) }
        columns += entity.toOne.map { (name: $0.name, type: Self.type($0)) }
        var body = [
            "/// An object of the entity `\(entity.name)`.",
            "\(self.access)struct \(name): ModelEntity {",
            "    \(self.access)static let entityName = \"\(entity.name)\"",
            "    \(self.access)static let columns: [\(self.named("Swift", "String"))] = [",
        ]
        body += Self.wrapped(columns.map { "\"\($0.name)\"," }).map { "        \($0)" }
        body += ["    ]", "    \(self.access)static let paths = Paths()", "", "    \(self.access)let id: ObjectID"]
        for column in columns { body.append("    \(self.access)var \(names[column.name]!): \(column.type)") }
        body += ["", "    \(self.access)init(row: FetchedRow) throws {", "        self.id = row.id"]
        for column in columns {
            body.append("        self.\(names[column.name]!) = try row.value(\"\(column.name)\")")
        }
        body += ["    }", "", "    /// The properties of `\(entity.name)` in predicates and sort keys."]
        body.append("    \(self.access)struct Paths: Sendable {")
        for attribute in entity.attributes {
            let path = "TypedPath<\(self.type(attribute, isOptional: false))>"
            body.append(
                "        \(self.access)let \(names[attribute.name]!) = \(path)(\"\(attribute.name)\")"
            )
        }
        for relationship in (entity.toOne + entity.toMany).sorted(by: { $0.name < $1.name }) {
            let kind = relationship.isToMany ? "ToManyPath" : "ToOnePath"
            let path = "\(kind)<\(self.qualified(self.model.destination(relationship)))>"
            let member = names[relationship.name]!
            body.append("        \(self.access)let \(member) = \(path)(\"\(relationship.name)\")")
        }
        body += ["    }", "}"]
        self.lines.append("")
        if let namespace = self.namespace {
            self.lines.append("extension \(namespace) {")
            self.lines += body.map { $0.isEmpty ? "" : "    " + $0 }
            self.lines.append("}")
        } else {
            self.lines += body
        }
        self.writeAssignments(entity, names)
    }

    private mutating func writeAssignments(_ entity: TypesModel.Entity, _ names: [String: String]) {
        guard !entity.columns.isEmpty else { return }
        self.lines += ["", "extension Assignment<\(self.qualified(entity.name))> {"]
        for attribute in entity.attributes {
            let (name, type) = (attribute.name, self.type(attribute))
            let function = "\(self.access)static func \(names[name]!)(_ value: \(type)) -> Self"
            self.lines.append("    \(function) { Self(\"\(name)\", value) }")
        }
        for relationship in entity.toOne {
            let name = relationship.name
            let object = relationship.isOptional ? "(any ObjectReferring)?" : "any ObjectReferring"
            let function = "\(self.access)static func \(names[name]!)(_ object: \(object)) -> Self"
            self.lines.append("    \(function) { Self(\"\(name)\", object: object) }")
        }
        self.lines.append("}")
    }

    /// Joins words to lines of at most 100 letters.
    private static func wrapped(_ words: [String]) -> [String] {
        var lines: [String] = []
        for word in words {
            if let last = lines.last, last.utf8.count + word.utf8.count < 100 {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(word)
            }
        }
        return lines
    }

    private func qualified(_ entity: String) -> String {
        (self.namespace.map { "\($0)." } ?? "") + (self.typeNames[entity] ?? entity)
    }

    private func type(_ attribute: AttributeDescription, isOptional: Bool? = nil) -> String {
        let (module, name) = Self.types[attribute.type]!
        return self.named(module, name) + (isOptional ?? attribute.isOptional ? "?" : "")
    }

    /// Returns a type's name, with its module if an entity of the same name would be meant.
    private func named(_ module: String, _ name: String) -> String {
        self.model.entities.contains { $0.name == name } ? "\(module).\(name)" : name
    }

    private static func type(_ relationship: RelationshipDescription) -> String {
        relationship.isOptional ? "ObjectID?" : "ObjectID"
    }

    private static let types: [AttributeType: (module: String, name: String)] = [
        .string: ("Swift", "String"), .uri: ("Swift", "String"), .integer: ("Swift", "Int"),
        .integer16: ("Swift", "Int16"), .integer32: ("Swift", "Int32"), .double: ("Swift", "Double"),
        .float: ("Swift", "Float"), .boolean: ("Swift", "Bool"), .date: ("Foundation", "Date"),
        .data: ("Foundation", "Data"), .uuid: ("Foundation", "UUID"), .decimal: ("Foundation", "Decimal"),
        .largeData: ("NestClient", "LargeValue"), .largeText: ("NestClient", "LargeValue"),
    ]
}
