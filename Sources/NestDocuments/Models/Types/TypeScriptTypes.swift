import NestModel

/// A model as types of TypeScript for the JavaScript client: an interface for the rows of each entity, and `Model`,
/// which `connect<Model>()` takes.
///
/// The text depends on the names and types of the model only, not on its numbers: equal models give equal bytes.
package struct TypeScriptTypes {
    private let model: TypesModel
    private let typeNames: [String: String]
    private var lines: [String]

    /// Returns the text of a TypeScript file.
    package static func text(of model: ManagedObjectModel) -> String {
        var types = TypeScriptTypes(TypesModel(model))
        types.write()
        return types.lines.joined(separator: "\n") + "\n"
    }

    private init(_ model: TypesModel) {
        self.model = model
        self.typeNames = DistinctNames.of(model.entities.map(\.name), taken: Self.takenTypes)
        self.lines = [
            "// Written by `nestc model generate typescript`. Do not edit: change the model, and write it again.",
            "",
            "import type * as nest from 'nest-client';",
        ]
    }

    private mutating func write() {
        for entity in self.model.entities { self.writeRow(entity) }
        self.lines += ["", "/** The entities by name: `connect<Model>()`. */", "export interface Model {"]
        for entity in self.model.entities { self.writeEntity(entity) }
        self.lines.append("}")
    }

    private mutating func writeRow(_ entity: TypesModel.Entity) {
        let name = self.typeName(entity.name)
        self.lines += [
            "", "/** A row of the entity `\(entity.name)`. */", "export interface \(name) extends nest.BaseRow {",
        ]
        for attribute in entity.attributes where !Self.takenMembers.contains(attribute.name) {
            let type = Self.types[attribute.type]! + (attribute.isOptional ? " | null" : "")
            self.lines.append("  readonly \(attribute.name): \(type);")
        }
        for relationship in entity.toOne where !Self.takenMembers.contains(relationship.name) {
            let type = "nest.Reference" + (relationship.isOptional ? " | null" : "")
            self.lines.append("  readonly \(relationship.name): \(type);")
        }
        self.lines.append("}")
    }

    private mutating func writeEntity(_ entity: TypesModel.Entity) {
        let names = entity.columns.map { "'\($0)'" }
        self.lines += [
            "  readonly \(entity.name): {",
            "    readonly row: \(self.typeName(entity.name));",
            "    readonly names: \(names.isEmpty ? "never" : names.joined(separator: " | "));",
        ]
        var values: [String] = []
        for attribute in entity.attributes where !Self.takenValues.contains(attribute.name) {
            let type = Self.givenTypes[attribute.type] ?? Self.types[attribute.type]!
            values.append("      \(attribute.name)?: \(type)\(attribute.isOptional ? " | null" : "");")
        }
        for relationship in entity.toOne where !Self.takenValues.contains(relationship.name) {
            values.append("      \(relationship.name)?: nest.ObjectLike\(relationship.isOptional ? " | null" : "");")
        }
        self.lines += values.isEmpty ? ["    readonly values: Record<string, never>;"] : []
        if !values.isEmpty { self.lines += ["    readonly values: {"] + values + ["    };"] }
        self.lines.append("    readonly toMany: {")
        for relationship in entity.toMany where !Self.takenMethods.contains(relationship.name) {
            self.lines.append("      readonly \(relationship.name): '\(self.model.destination(relationship))';")
        }
        self.lines += ["    };", "  };"]
    }

    private func typeName(_ entity: String) -> String { self.typeNames[entity] ?? entity }

    /// Members that every row has. A property of such a name is not a member: `row.get(name)` has it.
    private static let takenMembers: Set<String> = ["__proto__", "constructor", "get", "id", "toJSON", "values"]

    /// Names that every object literal has with another type.
    private static let takenValues: Set<String> = ["__proto__", "constructor"]

    /// Members of an entity in the library, and `then`, which would make it a promise. A to-many relationship of such a
    /// name is no method: `entity.of(object, name)` has it.
    package static let takenMethods: Set<String> = [
        "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "around",
        "columns", "constructor", "description", "hasOwnProperty", "isPrototypeOf", "lower", "lowered", "model", "name",
        "names", "namesOf", "of", "predicates", "properties", "propertyIsEnumerable", "section", "sectionKey",
        "shownWindow", "slot", "sort", "sorted", "source", "storedNames", "then", "toLocaleString", "toString",
        "totalTexts", "totals", "valueOf", "where", "whole", "window", "with",
    ]

    /// Names of the file itself, types that it uses, and words that are no names of interfaces.
    private static let takenTypes: Set<String> = [
        "Date", "Model", "Uint8Array", "any", "as", "async", "await", "bigint", "boolean", "break", "case", "catch",
        "class", "const", "continue", "debugger", "declare", "default", "delete", "do", "else", "enum", "export",
        "extends", "false", "finally", "for", "function", "if", "implements", "import", "in", "infer", "instanceof",
        "interface", "keyof",
        "let", "nest", "never", "new", "null", "number", "object", "package", "private", "protected", "public",
        "readonly", "return", "static", "string", "super", "switch", "symbol", "this", "throw", "true", "try", "type",
        "typeof",
        "undefined", "unique", "unknown", "var", "void", "while", "with", "yield",
    ]

    /// The types of values in rows.
    private static let types: [AttributeType: String] = [
        .string: "string", .uri: "string", .integer: "number | bigint", .integer16: "number", .integer32: "number",
        .double: "number", .float: "number", .boolean: "boolean", .date: "nest.NestDate", .data: "Uint8Array",
        .uuid: "nest.UUID", .decimal: "string", .largeData: "nest.LargeValue", .largeText: "nest.LargeValue",
    ]

    /// The types that a program may give, where there are more.
    private static let givenTypes: [AttributeType: String] = [
        .date: "nest.NestDate | Date", .double: "number | nest.Double", .float: "number | nest.Double",
    ]
}
