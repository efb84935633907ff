/// A model with features that the built-in one lacks: inheritance, ordered and unordered to-many relationships,
/// one-to-one, every attribute type, bounds and uniqueness.
enum PeopleModel {
    static let json = """
        {"format": "nest-model", "version": 1, "entities": [
          {"name": "Contact", "abstract": true, "label": "name",
           "attributes": [
             {"name": "name", "type": "string", "minimum": 1, "maximum": 80},
             {"name": "createdAt", "type": "date", "default": "now"}],
           "relationships": [
             {"name": "tags", "destination": "Tag", "inverse": "contacts", "toMany": true, "ordered": true}]},
          {"name": "Person", "parent": "Contact",
           "attributes": [
             {"name": "age", "type": "integer16", "optional": true, "minimum": 0, "maximum": 150},
             {"name": "balance", "type": "decimal", "default": "0"},
             {"name": "height", "type": "float", "optional": true},
             {"name": "homepage", "type": "uri", "optional": true},
             {"name": "picture", "type": "data", "optional": true},
             {"name": "token", "type": "uuid", "optional": true},
             {"name": "active", "type": "boolean", "default": true},
             {"name": "id", "type": "integer", "optional": true}],
           "relationships": [
             {"name": "card", "destination": "Card", "inverse": "owner", "deleteRule": "cascade"},
             {"name": "employer", "destination": "Company", "inverse": "staff"}]},
          {"name": "Company", "parent": "Contact",
           "attributes": [{"name": "founded", "type": "integer32", "optional": true}],
           "relationships": [
             {"name": "staff", "destination": "Person", "inverse": "employer", "toMany": true, "ordered": true,
              "deleteRule": "deny"}]},
          {"name": "Tag",
           "attributes": [{"name": "name", "type": "string"}],
           "relationships": [
             {"name": "contacts", "destination": "Contact", "inverse": "tags", "toMany": true}],
           "unique": [["name"]]},
          {"name": "Card",
           "attributes": [{"name": "number", "type": "integer"}],
           "relationships": [
             {"name": "owner", "destination": "Person", "inverse": "card", "optional": false}]}
        ]}
        """
}
