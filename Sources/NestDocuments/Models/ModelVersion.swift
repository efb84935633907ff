import NestModel

/// One version of a model in Xcode's directory of versions.
public struct ModelVersion: Sendable {
    /// The name of its directory, without `.xcdatamodel`; of a file alone, the file's name.
    public let name: String
    /// Whether `.xccurrentversion` names it, or it is the only one.
    public let isCurrent: Bool
    /// Its content, or why nest cannot use it.
    public let content: Result<Content, ModelFileError>

    public struct Content: Sendable {
        public let document: ModelDocument
        /// The attributes, as `Entity.attribute`, whose data Core Data may keep in files of their own.
        public let externalData: Set<String>
        /// The attributes, as `Entity.attribute`, that nest leaves out, but for which Core Data keeps a value.
        public let derived: Set<String>
    }
}

extension ModelFile {
    /// Reads all versions of a model, in the order of their names. A path of one version, or of a file, has one.
    public static func versions(path: String) throws(ModelFileError) -> [ModelVersion] {
        let found = try ModelPath.versions(of: path)
        var versions: [ModelVersion] = []
        for (name, path, isCurrent) in found {
            versions.append(
                ModelVersion(
                    name: name,
                    isCurrent: isCurrent,
                    content: Result { () throws(ModelFileError) in
                        try self.content(path)
                    }
                )
            )
        }
        return versions
    }

    private static func content(_ path: String) throws(ModelFileError) -> ModelVersion.Content {
        let document = try self.read(path: path)
        let file = try ModelPath.contents(of: path)
        // A model in nest's form does not say it.
        guard let root = try? XMLElement.parse(ModelPath.bytes(of: file, as: file)) else {
            return ModelVersion.Content(document: document, externalData: [], derived: [])
        }
        return ModelVersion.Content(
            document: document,
            externalData: self.attributes(of: root, with: "allowsExternalBinaryDataStorage"),
            derived: self.attributes(of: root, with: "derived")
        )
    }

    /// The attributes that have a flag.
    private static func attributes(of root: XMLElement, with flag: String) -> Set<String> {
        var found: Set<String> = []
        for entity in root.children("entity") {
            for attribute in entity.children("attribute") where attribute[flag].flatMap(CoreDataValue.boolean) == true {
                if let name = entity.text("name"), let attribute = attribute.text("name") {
                    found.insert("\(name).\(attribute)")
                }
            }
        }
        return found
    }
}
