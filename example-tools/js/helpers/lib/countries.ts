// The countries that we sell to.

import countries from "../data/countries.yaml";

export { countries };
