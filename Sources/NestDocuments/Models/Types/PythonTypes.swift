import NestModel

/// A model as types of Python for the Python client: a data class for the rows of each entity, and a typed dictionary
/// for the values that a program gives.
///
/// The text depends on the names and types of the model only, not on its numbers: equal models give equal bytes.
package struct PythonTypes {
    private let model: TypesModel
    private let typeNames: [String: String]
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
        self.typeNames = Self.names(model.entities.map(\.name), taken: Self.taken)
    }

    private mutating func writeImports() {
        let used = Set(self.model.entities.flatMap { $0.attributes.map(\.type) })
        let modules: [(name: String, type: AttributeType)] = [
            ("datetime", .date), ("decimal", .decimal), ("uuid", .uuid),
        ]
        self.lines = [
            "# Written by `nestc model generate python`. Do not edit: change the model, and write it again.",
            "",
            "from __future__ import annotations",
            "",
        ]
        self.lines += modules.filter { used.contains($0.type) }.map { "import \($0.name)" }
        self.lines += [
            "from dataclasses import dataclass", "from typing import ClassVar, Self, TypedDict", "", "import nest",
        ]
    }

    private mutating func write(_ entity: TypesModel.Entity) {
        let names = Self.names(entity.names, taken: Self.taken.union(Self.takenMembers))
        self.lines += [
            "",
            "",
            "@dataclass(frozen=True, slots=True)",
            "class \(self.typeNames[entity.name] ?? entity.name):",
            "    \"\"\"An object of the entity `\(entity.name)`.\"\"\"",
            "",
            "    entity: ClassVar[str] = \"\(entity.name)\"",
            "    #: What `properties(*columns)` takes, so that rows have all that `of` needs.",
            "    columns: ClassVar[tuple[str, ...]] = (",
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
        self.lines += ["", "    Values = TypedDict(", "        \"Values\",", "        {"]
        for attribute in entity.attributes {
            let type = Self.givenTypes[attribute.type] ?? Self.types[attribute.type]!
            self.lines.append("            \"\(attribute.name)\": \"\(type)\(attribute.isOptional ? " | None" : "")\",")
        }
        for relationship in entity.toOne {
            let type = "nest.ObjectLike" + (relationship.isOptional ? " | None" : "")
            self.lines.append("            \"\(relationship.name)\": \"\(type)\",")
        }
        self.lines += [
            "        },", "        total=False,", "    )", "", "    @classmethod",
            "    def of(cls, row: nest.Row) -> Self:",
            "        \"\"\"The object of a row. KeyError if the row has no such value.\"\"\"",
            "        return cls(",
            "            row.id,",
        ]
        self.lines += entity.columns.map { "            row[\"\($0)\"]," }
        self.lines.append("        )")
    }

    /// Names that begin with two underscores mean something to Python.
    private static func names(_ names: [String], taken: Set<String>) -> [String: String] {
        DistinctNames.of(names, beforeUnderscore: "x") { $0.hasPrefix("__") || taken.contains($0) }
    }

    /// Members that the classes have anyway.
    private static let takenMembers: Set<String> = [
        "Values", "_", "cls", "columns", "entity", "id", "of", "row", "self",
    ]

    /// Words of Python, and names that the module uses.
    private static let taken: Set<String> = [
        "ClassVar", "False", "None", "Self", "True", "TypedDict", "and", "annotations", "as", "assert", "async",
        "await",
        "bool", "break", "bytes", "class", "classmethod", "continue", "dataclass", "datetime", "decimal", "def", "del",
        "elif", "else", "except", "finally", "float", "for", "from", "global", "if", "import", "in", "int", "is",
        "lambda", "nest", "nonlocal", "not", "or", "pass", "raise", "return", "str", "try", "tuple", "uuid", "while",
        "with", "yield",
    ]

    /// The types of values in rows.
    private static let types: [AttributeType: String] = [
        .string: "str", .uri: "str", .integer: "int", .integer16: "int", .integer32: "int", .double: "float",
        .float: "float", .boolean: "bool", .date: "datetime.datetime | nest.Date", .data: "bytes",
        .uuid: "uuid.UUID", .decimal: "decimal.Decimal",
    ]

    /// The types that a program may give, where there are more.
    private static let givenTypes: [AttributeType: String] = [.decimal: "decimal.Decimal | int | str"]
}
