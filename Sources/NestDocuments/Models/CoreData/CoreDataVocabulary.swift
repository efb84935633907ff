/// The names that Xcode writes into a model. Any other name may mean something that nest does not know, so each gets a
/// warning.
enum CoreDataVocabulary {
    /// The attributes and children that an element may have. Attributes without a meaning on a server (classes, code
    /// generation, sync, Spotlight, encryption, version hashes) are known, too, and ignored without a warning.
    private struct Words {
        var attributes: Set<String>
        var children: Set<String> = []
    }

    private static let naming: Set<String> = [
        "name", "elementID", "renamingIdentifier", "versionHashModifier", "syncable",
    ]

    private static let property: Set<String> = naming.union([
        "optional", "transient", "indexed", "spotlightIndexingEnabled", "storedInTruthFile",
        "preservesValueInHistoryOnDeletion", "preserveValueOnDeletion",
    ])

    private static let words: [String: Words] = [
        "model": Words(
            attributes: [
                "name", "type", "documentVersion", "lastSavedToolsVersion", "systemVersion", "minimumToolsVersion",
                "sourceLanguage", "userDefinedModelVersionIdentifier", "macOSVersion", "iOSVersion", "usedWithCloudKit",
                "usedWithSwiftData",
            ],
            children: ["entity", "configuration", "fetchRequest", "elements", "compositeAttribute", "composite"]
        ),
        "entity": Words(
            attributes: naming.union([
                "parentEntity", "isAbstract", "representedClassName", "codeGenerationType",
                "coreSpotlightDisplayNameExpression",
            ]),
            children: [
                "attribute", "relationship", "fetchedProperty", "fetchIndex", "uniquenessConstraints",
                "compoundIndexes",
                "userInfo",
            ]
        ),
        "attribute": Words(
            attributes: property.union([
                "attributeType", "defaultValueString", "defaultDateTimeInterval", "usesScalarValueType",
                "minValueString",
                "maxValueString", "minDateTimeInterval", "maxDateTimeInterval", "regularExpressionString", "derived",
                "derivationExpression", "valueTransformerName", "customClassName", "attributeValueClassName",
                "allowsExternalBinaryDataStorage", "storedInExternalRecord", "allowsCloudEncryption", "compositeName",
                "compositeAttribute", "ephemeral",
            ]),
            children: ["userInfo"]
        ),
        "relationship": Words(
            attributes: property.union([
                "toMany", "ordered", "minCount", "maxCount", "deletionRule", "destinationEntity", "inverseName",
                "inverseEntity",
            ]),
            children: ["userInfo"]
        ),
        "fetchIndex": Words(
            attributes: ["name", "partialIndexPredicate", "predicate"],
            children: ["fetchIndexElement", "userInfo"]
        ),
        "fetchIndexElement": Words(attributes: ["property", "type", "order", "expression", "expressionType"]),
        "uniquenessConstraints": Words(attributes: [], children: ["uniquenessConstraint"]),
        "uniquenessConstraint": Words(attributes: [], children: ["constraint"]),
        "constraint": Words(attributes: ["value"]),
        "compoundIndexes": Words(attributes: [], children: ["compoundIndex"]),
        "compoundIndex": Words(attributes: [], children: ["index"]),
        "index": Words(attributes: ["value"]),
        "userInfo": Words(attributes: [], children: ["entry"]),
        "entry": Words(attributes: ["key", "value"]),
    ]

    /// Returns warnings about unknown parts of an element itself, not of its children.
    static func warnings(about element: XMLElement, at path: String) -> [String] {
        guard let words = Self.words[element.name] else { return [] }
        var warnings = element.attributes.keys.filter { !words.attributes.contains($0) }.sorted().map {
            "\(path): the XML attribute \($0) of <\(element.name)> is not known and is ignored"
        }
        let unknown = Set(element.children.map(\.name)).subtracting(words.children)
        warnings += unknown.sorted().map {
            "\(path): the XML element <\($0)> in <\(element.name)> is not known and is ignored"
        }
        if !element.text.isEmpty {
            warnings.append("\(path): the text in <\(element.name)> is ignored")
        }
        return warnings
    }
}
