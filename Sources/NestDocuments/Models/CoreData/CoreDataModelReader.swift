import NestModel

/// Creates a draft from Xcode's XML, and collects warnings about the parts that nest ignores.
struct CoreDataModelReader {
    private let model: XMLElement
    let omissions: CoreDataOmissions
    var warnings: [String] = []
    /// The faults that make the model unusable, besides those that compiling the draft finds.
    var faults: [String] = []

    /// Throws all faults of the XML, and those of the draft as far as it could be made.
    static func document(_ root: XMLElement, name: String) throws(ModelFileError) -> ModelDocument {
        if let refusal = Self.refusal(of: root) { throw ModelFileError(.invalid, name: name, faults: [refusal]) }
        var reader = CoreDataModelReader(root)
        let draft = reader.draft()
        if !reader.faults.isEmpty {
            var faults = reader.faults
            do { _ = try draft.compile() } catch { faults += error.faults }
            throw ModelFileError(.invalid, name: name, faults: faults)
        }
        let whole = reader.withRequests(draft)
        return ModelDocument(draft: whole, warnings: reader.warnings, isForeign: true)
    }

    private init(_ model: XMLElement) {
        self.model = model
        self.omissions = CoreDataOmissions(model)
    }

    private static func refusal(of root: XMLElement) -> String? {
        guard root.name == "model" else {
            return root.name == "plist"
                ? "it is a property list, not a model; specify the .xcdatamodeld directory that contains it"
                : "it is <\(root.name)>, not the <model> of a 'contents' file that Xcode writes"
        }
        if root.children("entity").count > Limits.entitiesPerModelMax {
            return "it has more than \(Limits.entitiesPerModelMax) entities"
        }
        guard let type = root["type"], type != "com.apple.IDECoreDataModeler.DataModel" else { return nil }
        return "it is a model of the type \(type), not a Core Data model"
    }

    var requestElements: [XMLElement] { self.model.children("fetchRequest") }
    var entityElements: [XMLElement] { self.model.children("entity") }

    private mutating func draft() -> ModelDraft {
        self.warnings += CoreDataVocabulary.warnings(about: self.model, at: "the model")
        for configuration in self.model.children("configuration") {
            self.warnings.append(
                "the configuration \(Self.title(configuration)) is ignored: a store holds every entity"
            )
        }
        // An attribute of a composite type is refused where it is read.
        for type in self.model.children where type.name == "compositeAttribute" || type.name == "composite" {
            self.warnings.append("the composite type \(Self.title(type)) is ignored")
        }
        return ModelDraft(entities: self.model.children("entity").compactMap { self.entity($0) })
    }

    private mutating func entity(_ element: XMLElement) -> EntityDraft? {
        guard let name = element.text("name") else {
            self.faults.append("an entity has no name")
            return nil
        }
        self.warnings += CoreDataVocabulary.warnings(about: element, at: name)
        var entity = EntityDraft(name: name)
        entity.parent = element.text("parentEntity")
        entity.isAbstract = self.flag("isAbstract", of: element, at: name)
        entity.renamedFrom = Self.renamedFrom(element)
        for child in element.children("attribute") {
            if let attribute = self.attribute(child, in: &entity) { entity.attributes.append(attribute) }
        }
        for child in element.children("relationship") {
            if let relationship = self.relationship(child, in: name) { entity.relationships.append(relationship) }
        }
        self.addIndexes(of: element, to: &entity)
        self.applyUserInfo(of: element, to: &entity)
        return entity
    }

    /// Returns one of Xcode's flags; a missing one means NO.
    mutating func flag(_ name: String, of element: XMLElement, at path: String) -> Bool {
        guard let text = element.text(name) else { return false }
        guard let value = CoreDataValue.boolean(text) else {
            self.faults.append("\(path): \(name) is '\(text)'; YES or NO is expected")
            return false
        }
        return value
    }

    /// Returns the renaming identifier, if it differs from the name.
    static func renamedFrom(_ element: XMLElement) -> String? {
        let identifier = element.text("elementID") ?? element.text("renamingIdentifier")
        return identifier == element["name"] ? nil : identifier
    }

    static func title(_ element: XMLElement) -> String { element.text("name") ?? "without a name" }
}
