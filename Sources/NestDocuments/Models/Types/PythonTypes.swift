import NestModel

/// A model as types of Python for the Python client. Each entity has a data class for its rows, a typed dictionary for
/// the values that a program gives, and a class of its requests, which `client.entity` returns for the data class.
///
/// The text depends on the names and types of the model only, not on its numbers: equal models give equal bytes.
package struct PythonTypes {
    private let model: TypesModel
    private let names: PythonNames
    private var lines: [String] = []

    /// Returns the text of a Python module.
    package static func text(of model: ManagedObjectModel) -> String {
        var types = PythonTypes(TypesModel(model))
        types.writeImports()
        for entity in types.model.entities { types.write(entity) }
        return types.lines.joined(separator: "\n") + "\n"
    }

    private init(_ model: TypesModel) {
        self.model = model
        self.names = PythonNames(model.entities.map(\.name))
    }

    private mutating func writeImports() {
        let used = Set(self.model.entities.flatMap { $0.attributes.map(\.type) })
        let modules: [(name: String, type: AttributeType)] = [
            ("datetime", .date), ("decimal", .decimal), ("uuid", .uuid),
        ]
        let typing: [(name: String, isUsed: Bool)] = [
            ("TYPE_CHECKING", self.model.entities.contains { !PythonNames.arguments(of: $0.columns).isEmpty }),
            ("ClassVar", true),
            ("Literal", self.model.entities.contains { !$0.columns.isEmpty }),
            ("Never", self.model.entities.contains { Self.sorted($0).isEmpty }),
            ("TypeAlias", true),
            ("TypedDict", true),
        ]
        self.lines = [
            "# Written by `nestc model generate python`. Do not edit: change the model, and write it again.",
            "",
            "from __future__ import annotations",
            "",
        ]
        self.lines += modules.filter { used.contains($0.type) }.map { "import \($0.name)" }
        self.lines += [
            "from dataclasses import dataclass",
            "from typing import \(typing.filter(\.isUsed).map(\.name).joined(separator: ", "))",
            "",
            "import nest",
        ]
    }

    private mutating func write(_ entity: TypesModel.Entity) {
        let types = self.names.types(of: entity.name)
        self.lines += ["", ""]
        self.writeLiteral(types.name, entity.columns.map { "\"\($0)\"," })
        self.writeLiteral(types.key, Self.sorted(entity).map(Self.sortKeys))
        self.writeValues(entity, types)
        self.lines += ["", ""]
        self.writeRow(entity, types)
        self.lines += ["", ""]
        self.writeRequests(entity, types)
    }

    private mutating func writeLiteral(_ name: String, _ texts: [String]) {
        if texts.isEmpty { return self.lines.append("\(name): TypeAlias = Never") }
        self.lines.append("\(name): TypeAlias = Literal[")
        self.lines += texts.map { "    \($0)" }
        self.lines.append("]")
    }

    /// The attributes that rows can be sorted by: a large value has no order.
    private static func sorted(_ entity: TypesModel.Entity) -> [AttributeDescription] {
        entity.attributes.filter { !$0.type.isLarge }
    }

    private static func sortKeys(_ attribute: AttributeDescription) -> String {
        let foldings = attribute.type == .string || attribute.type == .uri ? ["", ":c", ":d", ":cd"] : [""]
        return foldings.map { "\"\(attribute.name)\($0)\", \"-\(attribute.name)\($0)\"," }.joined(separator: " ")
    }

    private mutating func writeValues(_ entity: TypesModel.Entity, _ types: PythonNames.Types) {
        self.lines += ["\(types.values) = TypedDict(", "    \"\(types.values)\",", "    {"]
        self.lines += Self.given(entity).map { "        \"\($0.name)\": \"\($0.type)\"," }
        self.lines += ["    },", "    total=False,", ")"]
    }

    private mutating func writeRow(_ entity: TypesModel.Entity, _ types: PythonNames.Types) {
        let names = self.names.fields(of: entity)
        self.lines += [
            "@dataclass(frozen=True, slots=True)",
            "class \(types.row)(nest.Typed[\"\(types.entity)\", \(types.name), \(types.key)]):",
            "    \"\"\"An object of the entity `\(entity.name)`.\"\"\"",
            "",
            "    entity: ClassVar[str] = \"\(entity.name)\"",
            "    columns: ClassVar[tuple[\(types.name), ...]] = (",
        ]
        self.lines += entity.columns.map { "        \"\($0)\"," }
        self.lines += ["    )", "    id: int"]
        for attribute in entity.attributes {
            let type = Self.types[attribute.type]! + (attribute.isOptional ? " | None" : "")
            self.lines.append("    \(names[attribute.name]!): \(type)")
        }
        for relationship in entity.toOne {
            let type = "nest.Reference" + (relationship.isOptional ? " | None" : "")
            self.lines.append("    \(names[relationship.name]!): \(type)")
        }
        self.lines += [
            "", "    class Values(\(types.values), total=False):",
            "        \"\"\"What `insert`, `update` and `find_or_create` take.\"\"\"",
        ]
    }

    private mutating func writeRequests(_ entity: TypesModel.Entity, _ types: PythonNames.Types) {
        self.lines += [
            "class \(types.entity)(nest.TypedEntity[\(types.row), \(types.values)], rows=\(types.row)):",
            "    \"\"\"Requests for objects of the entity `\(entity.name)`, and the steps that write them.\"\"\"",
            "",
            "    __slots__ = ()",
        ]
        let names = self.names.methods(of: entity)
        for relationship in entity.toMany {
            let destination = self.names.types(of: self.model.destination(relationship)).row
            self.lines += [
                "",
                "    def \(names[relationship.name]!)(self, object: int | nest.HasID)"
                    + " -> nest.FetchRequest[\(destination)]:",
                "        return self.of(object, \"\(relationship.name)\", \(destination))",
            ]
        }
        let arguments = PythonNames.arguments(of: entity.columns)
        guard !arguments.isEmpty else { return }
        let given = Self.given(entity).filter { arguments.contains($0.name) }
            .map { "            \($0.name): \($0.type) = ...," }
        let values = ["            values: \(types.values) | None = None,", "            /,", "            *,"]
        self.lines += ["", "    if TYPE_CHECKING:", "", "        def insert(", "            self,"] + values
        self.lines += [
            "            under: nest.ObjectLike | None = None,",
            "            place: nest.Place | None = None,",
            "            via: str | None = None,",
            "            as_id: int | None = None,",
        ]
        self.lines += given + ["        ) -> nest.Step: ...", "", "        def update(", "            self,"]
        self.lines += ["            object: nest.ObjectLike,"] + values + given + ["        ) -> nest.Step: ..."]
    }

    /// The types of what a program gives for each property.
    private static func given(_ entity: TypesModel.Entity) -> [(name: String, type: String)] {
        let attributes = entity.attributes.map { one in
            let type = Self.givenTypes[one.type] ?? Self.types[one.type]!
            return (name: one.name, type: type + (one.isOptional ? " | None" : ""))
        }
        return attributes
            + entity.toOne.map { (name: $0.name, type: "nest.ObjectLike" + ($0.isOptional ? " | None" : "")) }
    }

    /// The types of values in rows.
    private static let types: [AttributeType: String] = [
        .string: "str", .uri: "str", .integer: "int", .integer16: "int", .integer32: "int", .double: "float",
        .float: "float", .boolean: "bool", .date: "datetime.datetime | nest.Date", .data: "bytes",
        .uuid: "uuid.UUID", .decimal: "decimal.Decimal", .largeData: "nest.LargeValue", .largeText: "nest.LargeValue",
    ]

    /// The types that a program may give, where there are more.
    private static let givenTypes: [AttributeType: String] = [.decimal: "decimal.Decimal | int | str"]
}
