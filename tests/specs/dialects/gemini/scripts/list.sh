echo '[{"name": "where", "description": "Says where it runs"}]'
