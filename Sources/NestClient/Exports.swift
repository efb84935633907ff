// Clients need the types of NestModel. With this, one import is enough.
@_exported import NestModel
