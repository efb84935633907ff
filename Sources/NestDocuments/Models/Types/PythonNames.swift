import NestModel

/// Names of a model as names of Python, distinct from those that generated code uses and from members of the library.
struct PythonNames {
    /// The types of an entity.
    struct Types {
        /// The data class of its rows.
        let row: String
        /// The class of its requests.
        let entity: String
        /// What a program gives.
        let values: String
        /// The names of its attributes and to-one relationships.
        let name: String
        /// Its sort keys.
        let key: String

        fileprivate var companions: [String] { [self.entity, self.values, self.name, self.key] }
    }

    private let types: [String: Types]
    private let rows: Set<String>

    init(_ entities: [String]) {
        let rows = Self.distinct(entities, taken: Self.words.union(Self.entityWords))
        let taken = Self.words.union(rows.values)
        let companions = ["Entity", "Values", "Name", "Key"].map { ending in
            Self.distinct(rows.values.map { $0 + ending }.sorted(), taken: taken)
        }
        self.rows = Set(rows.values)
        self.types = rows.mapValues { row in
            Types(
                row: row,
                entity: companions[0][row + "Entity"]!,
                values: companions[1][row + "Values"]!,
                name: companions[2][row + "Name"]!,
                key: companions[3][row + "Key"]!
            )
        }
    }

    func types(of entity: String) -> Types { self.types[entity]! }

    /// The fields of the data class, by the names of the properties.
    func fields(of entity: TypesModel.Entity) -> [String: String] {
        let taken = Self.words.union(Self.rowMembers).union(self.types(of: entity.name).companions)
        return Self.distinct(entity.names, taken: taken)
    }

    /// The methods of the class of requests, by the names of the to-many relationships.
    func methods(of entity: TypesModel.Entity) -> [String: String] {
        let taken = Self.words.union(Self.entityMembers).union(self.rows)
            .union(self.types(of: entity.name).companions)
        return Self.distinct(entity.toMany.map(\.name), taken: taken)
    }

    /// The properties that `insert` and `update` take as arguments of their names. The others go into the dictionary.
    static func arguments(of columns: [String]) -> Set<String> {
        Set(columns.filter { !$0.hasPrefix("__") && !self.keywords.contains($0) && !self.parameters.contains($0) })
    }

    /// Names that begin with two underscores mean something to Python.
    private static func distinct(_ names: [String], taken: Set<String>) -> [String: String] {
        DistinctNames.of(names, beforeUnderscore: "x") { $0.hasPrefix("__") || taken.contains($0) }
    }

    /// Members that the data classes have anyway.
    private static let rowMembers: Set<String> = [
        "Values", "_", "_is_protocol", "columns", "entity", "id", "of", "self",
    ]

    /// Members of `nest.TypedEntity`.
    private static let entityMembers: Set<String> = [
        "_check_kind", "_insert", "_is_protocol", "_kind", "_to_many", "_update", "_with", "anchor", "around",
        "delete", "description", "find_or_create", "insert", "lower", "model", "move", "name", "names", "of",
        "predicates", "properties", "range", "relate", "section", "section_key", "set_related", "sort_keys", "sorted",
        "source", "stored_names", "unrelate", "update", "where", "window",
    ]

    /// Parameters of `insert` and `update`.
    private static let parameters: Set<String> = ["as_id", "object", "place", "self", "under", "values", "via"]

    private static let keywords: Set<String> = [
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
        "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
        "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ]

    /// Names that no class of the module may have: what the methods of data classes use, and parameters of generated
    /// methods.
    private static let entityWords: Set<String> = ["NotImplemented", "hash", "object", "self", "super", "type"]

    /// Keywords, and names that the module uses.
    private static let words = Self.keywords.union([
        "ClassVar", "Literal", "Never", "TYPE_CHECKING", "TypeAlias", "TypedDict", "annotations", "bool", "bytes",
        "dataclass", "datetime", "decimal", "float", "int", "nest", "str", "tuple", "uuid",
    ])
}
