import NestModel

// Comparisons of values. `nil`: there is none.

public func == <Entity: ModelEntity, Value: AttributeConvertible>(
    path: KeyPath<Entity.Paths, TypedPath<Value>>,
    value: Value?
) -> TypedPredicate<Entity> { .compare(Entity.paths[keyPath: path], .equal, [value]) }

public func != <Entity: ModelEntity, Value: AttributeConvertible>(
    path: KeyPath<Entity.Paths, TypedPath<Value>>,
    value: Value?
) -> TypedPredicate<Entity> { .compare(Entity.paths[keyPath: path], .notEqual, [value]) }

public func < <Entity: ModelEntity, Value: AttributeConvertible>(
    path: KeyPath<Entity.Paths, TypedPath<Value>>,
    value: Value
) -> TypedPredicate<Entity> { .compare(Entity.paths[keyPath: path], .less, [value]) }

public func <= <Entity: ModelEntity, Value: AttributeConvertible>(
    path: KeyPath<Entity.Paths, TypedPath<Value>>,
    value: Value
) -> TypedPredicate<Entity> { .compare(Entity.paths[keyPath: path], .lessOrEqual, [value]) }

public func > <Entity: ModelEntity, Value: AttributeConvertible>(
    path: KeyPath<Entity.Paths, TypedPath<Value>>,
    value: Value
) -> TypedPredicate<Entity> { .compare(Entity.paths[keyPath: path], .greater, [value]) }

public func >= <Entity: ModelEntity, Value: AttributeConvertible>(
    path: KeyPath<Entity.Paths, TypedPath<Value>>,
    value: Value
) -> TypedPredicate<Entity> { .compare(Entity.paths[keyPath: path], .greaterOrEqual, [value]) }

/// Whether the value is in a closed range: `\.count ~= 3...5`, the query language's BETWEEN.
public func ~= <Entity: ModelEntity, Value: AttributeConvertible & Comparable>(
    range: ClosedRange<Value>,
    path: KeyPath<Entity.Paths, TypedPath<Value>>
) -> TypedPredicate<Entity> {
    .compare(Entity.paths[keyPath: path], .between, [range.lowerBound, range.upperBound])
}

// Comparisons of objects. `nil`: there is none.

public func == <Entity: ModelEntity, Target>(
    path: KeyPath<Entity.Paths, ToOnePath<Target>>,
    object: (any ObjectReferring)?
) -> TypedPredicate<Entity> { .compare(Entity.paths[keyPath: path].pathObject, .equal, [object.orNull]) }

public func != <Entity: ModelEntity, Target>(
    path: KeyPath<Entity.Paths, ToOnePath<Target>>,
    object: (any ObjectReferring)?
) -> TypedPredicate<Entity> { .compare(Entity.paths[keyPath: path].pathObject, .notEqual, [object.orNull]) }

extension (any ObjectReferring)? {
    var orNull: any MutationValueConvertible { self ?? AttributeValue.null }
}

extension ToOnePath {
    var pathObject: TypedPath<ObjectID> { TypedPath(self.pathText, self.pathQuantifier) }
}

extension TypedPredicate {
    /// Whether the value is one of these.
    public static func isIn<Value: AttributeConvertible>(
        _ path: KeyPath<Entity.Paths, TypedPath<Value>>,
        _ values: [Value]
    ) -> TypedPredicate { .compare(Entity.paths[keyPath: path], .isIn, values) }

    /// Whether the text contains another one: `.contains(\.title, "milk", ignoring: .caseInsensitive)`.
    public static func contains<Text: AttributeConvertible>(
        _ path: KeyPath<Entity.Paths, TypedPath<Text>>,
        _ text: String,
        ignoring folding: TextFolding = []
    ) -> TypedPredicate { .compare(Entity.paths[keyPath: path], .contains, [text], folding) }

    public static func begins<Text: AttributeConvertible>(
        _ path: KeyPath<Entity.Paths, TypedPath<Text>>,
        with text: String,
        ignoring folding: TextFolding = []
    ) -> TypedPredicate { .compare(Entity.paths[keyPath: path], .beginsWith, [text], folding) }

    public static func ends<Text: AttributeConvertible>(
        _ path: KeyPath<Entity.Paths, TypedPath<Text>>,
        with text: String,
        ignoring folding: TextFolding = []
    ) -> TypedPredicate { .compare(Entity.paths[keyPath: path], .endsWith, [text], folding) }

    /// Whether the whole text fits a pattern: `*` is any text, `?` one scalar, and `\` makes either literal.
    public static func like<Text: AttributeConvertible>(
        _ path: KeyPath<Entity.Paths, TypedPath<Text>>,
        _ pattern: String,
        ignoring folding: TextFolding = []
    ) -> TypedPredicate { .compare(Entity.paths[keyPath: path], .like, [pattern], folding) }

    /// Whether the whole text matches a regular expression in the syntax of RE2.
    public static func matches<Text: AttributeConvertible>(
        _ path: KeyPath<Entity.Paths, TypedPath<Text>>,
        _ expression: String,
        ignoring folding: TextFolding = []
    ) -> TypedPredicate { .compare(Entity.paths[keyPath: path], .matches, [expression], folding) }

    /// Whether the texts are equal but for these differences.
    public static func equals<Text: AttributeConvertible>(
        _ path: KeyPath<Entity.Paths, TypedPath<Text>>,
        _ text: String,
        ignoring folding: TextFolding
    ) -> TypedPredicate { .compare(Entity.paths[keyPath: path], .equal, [text], folding) }
}
